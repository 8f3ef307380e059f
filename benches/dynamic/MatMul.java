/** A product of matrices, rows shared among threads. */
class MatMul {
    private static final int SIZE = 1400;
    private static final int ROWS = Scale.of(SIZE);
    private static final double[][] A = new double[SIZE][SIZE];
    private static final double[][] B = new double[SIZE][SIZE];
    private static final double[][] C = new double[SIZE][SIZE];

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                A[i][j] = i + j;
                B[i][j] = i - j;
            }
        }
        Thread other = new Thread(() -> rows(0));
        other.start();
        rows(1);
        other.join();
        System.out.println(C[ROWS / 2][SIZE / 3]);
    }

    private static void rows(int first) {
        for (int i = first; i < ROWS; i += 2) {
            double[] a = A[i];
            double[] c = C[i];
            for (int k = 0; k < SIZE; k++) {
                double[] b = B[k];
                double f = a[k];
                for (int j = 0; j < SIZE; j++) {
                    c[j] += f * b[j];
                }
            }
        }
    }
}
