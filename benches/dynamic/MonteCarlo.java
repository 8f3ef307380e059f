/** Random walks, each on arrays of its own; results in a common one. */
class MonteCarlo {
    private static final int WALKS = Scale.of(100_000);
    private static final int STEPS = 2_000;
    private static final double[] RESULTS = new double[WALKS];

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(() -> walks(0));
        other.start();
        walks(1);
        other.join();
        double sum = 0;
        for (double result : RESULTS) {
            sum += result;
        }
        System.out.printf("%.6f%n", sum / WALKS);
    }

    private static void walks(int first) {
        double[] path = new double[STEPS];
        long random = first + 1;
        for (int walk = first; walk < WALKS; walk += 2) {
            path[0] = 100;
            for (int i = 1; i < STEPS; i++) {
                random = random * 6364136223846793005L + 1442695040888963407L;
                path[i] = path[i - 1] * (1 + ((random >>> 40) / (double) (1 << 24) - 0.5) * 0.01);
            }
            double highest = 0;
            for (double at : path) {
                highest = Math.max(highest, at);
            }
            RESULTS[walk] = highest;
        }
    }
}
