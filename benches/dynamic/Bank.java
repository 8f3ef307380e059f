/** Transfers between accounts, each under two locks. */
class Bank {
    static final class Account {
        final int number;
        private long balance;

        Account(int number) {
            this.number = number;
        }

        synchronized void add(long amount) {
            balance += amount;
        }

        synchronized long balance() {
            return balance;
        }
    }

    private static final int TRANSFERS = Scale.of(12_000_000);
    private static final Account[] ACCOUNTS = new Account[64];

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < ACCOUNTS.length; i++) {
            ACCOUNTS[i] = new Account(i);
            ACCOUNTS[i].add(1000);
        }
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            int seed = t;
            threads[t] = new Thread(() -> transfers(seed));
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long total = 0;
        for (Account account : ACCOUNTS) {
            total += account.balance();
        }
        System.out.println(total);
    }

    private static void transfers(int seed) {
        long random = seed + 1;
        for (int i = 0; i < TRANSFERS; i++) {
            random = random * 6364136223846793005L + 1442695040888963407L;
            Account from = ACCOUNTS[(int) (random >>> 58)];
            Account to = ACCOUNTS[(int) (random >>> 52 & 63)];
            if (from == to) {
                continue;
            }
            Account first = from.number < to.number ? from : to;
            Account second = first == from ? to : from;
            // What a transfer costs beside its locks.
            int fee = 0;
            for (int k = 0; k < 40; k++) {
                fee += (int) (random >>> k & 1);
            }
            synchronized (first) {
                synchronized (second) {
                    long amount = Math.min(from.balance(), fee & 7);
                    from.add(-amount);
                    to.add(amount);
                }
            }
        }
    }
}
