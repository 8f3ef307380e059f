/** The shortest tour by branch and bound: tours are objects in a common stack, the best one is common as well. */
class Tsp {
    static final class Tour {
        Tour before;
        int city;
        int visited;
        int count;
        int length;

        Tour(Tour before, int city, int length) {
            this.before = before;
            this.city = city;
            this.length = length;
            this.visited = (before == null ? 0 : before.visited) | 1 << city;
            this.count = before == null ? 1 : before.count + 1;
        }
    }

    private static final int CITIES = 9 + Scale.of(6);
    private static final int[][] DISTANCE = new int[CITIES][CITIES];
    private static final java.util.ArrayDeque<Tour> STACK = new java.util.ArrayDeque<>();
    private static int best = Integer.MAX_VALUE;

    public static void main(String[] args) throws InterruptedException {
        java.util.Random random = new java.util.Random(42);
        for (int i = 0; i < CITIES; i++) {
            for (int j = 0; j < i; j++) {
                DISTANCE[i][j] = DISTANCE[j][i] = 10 + random.nextInt(90);
            }
        }
        STACK.push(new Tour(null, 0, 0));
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(Tsp::search);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(best);
    }

    private static void search() {
        int idle = 0;
        while (idle < 1000) {
            Tour tour;
            synchronized (STACK) {
                tour = STACK.poll();
            }
            if (tour == null) {
                idle++;
                Thread.yield();
                continue;
            }
            idle = 0;
            if (tour.count < 6) {
                for (int city = 1; city < CITIES; city++) {
                    if ((tour.visited & 1 << city) == 0) {
                        synchronized (STACK) {
                            STACK.push(new Tour(tour, city, tour.length + DISTANCE[tour.city][city]));
                        }
                    }
                }
            } else {
                finish(tour);
            }
        }
    }

    private static void finish(Tour tour) {
        if (tour.length >= bound()) {
            return;
        }
        if (tour.count == CITIES) {
            int whole = tour.length + DISTANCE[tour.city][0];
            synchronized (DISTANCE) {
                best = Math.min(best, whole);
            }
            return;
        }
        for (int city = 1; city < CITIES; city++) {
            if ((tour.visited & 1 << city) == 0) {
                finish(new Tour(tour, city, tour.length + DISTANCE[tour.city][city]));
            }
        }
    }

    private static int bound() {
        synchronized (DISTANCE) {
            return best;
        }
    }
}
