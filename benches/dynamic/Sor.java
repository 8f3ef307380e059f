/** Successive over-relaxation of a grid, red and black in turn, rows shared among threads. */
class Sor {
    private static final int SIZE = 1000;
    private static final int SWEEPS = Scale.of(1200);
    private static final double[][] GRID = new double[SIZE][SIZE];

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                GRID[i][j] = (i * 31 + j * 17) % 100;
            }
        }
        for (int step = 0; step < SWEEPS; step++) {
            int colour = step & 1;
            Thread other = new Thread(() -> sweep(colour, 1, SIZE / 2));
            other.start();
            sweep(colour, SIZE / 2, SIZE - 1);
            other.join();
        }
        System.out.printf("%.6f%n", GRID[SIZE / 2][SIZE / 2]);
    }

    private static void sweep(int colour, int from, int to) {
        for (int i = from; i < to; i++) {
            double[] above = GRID[i - 1];
            double[] row = GRID[i];
            double[] below = GRID[i + 1];
            for (int j = 1 + (i + colour & 1); j < SIZE - 1; j += 2) {
                row[j] = 0.3125 * (above[j] + below[j] + row[j - 1] + row[j + 1]) - 0.25 * row[j];
            }
        }
    }
}
