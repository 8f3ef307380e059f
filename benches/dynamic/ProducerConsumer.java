/** Batches of messages go through a bounded buffer. */
class ProducerConsumer {
    static final class Message {
        int number;
        long value;
        Message next;

        Message(int number) {
            this.number = number;
        }
    }

    static final class Buffer {
        private Message head;
        private int size;

        synchronized void put(Message message) throws InterruptedException {
            while (size >= 64) {
                wait();
            }
            message.next = head;
            head = message;
            size++;
            notifyAll();
        }

        synchronized Message take() throws InterruptedException {
            while (size == 0) {
                wait();
            }
            Message message = head;
            head = message.next;
            size--;
            notifyAll();
            return message;
        }
    }

    private static final int MESSAGES = Scale.of(400_000);

    public static void main(String[] args) throws InterruptedException {
        Buffer buffer = new Buffer();
        Thread producer = new Thread(() -> {
            try {
                for (int i = 0; i < MESSAGES; i++) {
                    Message message = new Message(i);
                    work(message);
                    buffer.put(message);
                }
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        });
        producer.start();
        long sum = 0;
        for (int i = 0; i < MESSAGES; i++) {
            Message message = buffer.take();
            work(message);
            sum += message.value;
        }
        producer.join();
        System.out.println(sum);
    }

    private static void work(Message message) {
        for (int i = 0; i < 2000; i++) {
            message.value = message.value * 31 + (message.number ^ i);
        }
    }
}
