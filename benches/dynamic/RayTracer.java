/** Spheres, a vector object for every intermediate result, rows of the picture shared among threads. */
class RayTracer {
    static final class Vec {
        double x, y, z;

        Vec(double x, double y, double z) {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        Vec plus(Vec o) {
            return new Vec(x + o.x, y + o.y, z + o.z);
        }

        Vec minus(Vec o) {
            return new Vec(x - o.x, y - o.y, z - o.z);
        }

        Vec times(double f) {
            return new Vec(x * f, y * f, z * f);
        }

        double dot(Vec o) {
            return x * o.x + y * o.y + z * o.z;
        }

        Vec unit() {
            return times(1 / Math.sqrt(dot(this)));
        }
    }

    static final class Sphere {
        Vec center;
        double radius;

        Sphere(Vec center, double radius) {
            this.center = center;
            this.radius = radius;
        }

        double hit(Vec from, Vec along) {
            Vec to = center.minus(from);
            double b = to.dot(along);
            double d = b * b - to.dot(to) + radius * radius;
            return d < 0 || b < 0 ? Double.POSITIVE_INFINITY : b - Math.sqrt(d);
        }
    }

    private static final int SIZE = 1600;
    private static final int ROWS = Scale.of(SIZE);
    private static final Sphere[] SCENE = new Sphere[27];
    private static long sum;
    private static int nextRow;

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < SCENE.length; i++) {
            SCENE[i] = new Sphere(new Vec(i % 3 - 1, i / 3 % 3 - 1, 4 + i / 9), 0.4);
        }
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(RayTracer::rows);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(sum);
    }

    private static void rows() {
        while (true) {
            int row;
            synchronized (SCENE) {
                row = nextRow++;
            }
            if (row >= ROWS) {
                return;
            }
            long shades = 0;
            for (int column = 0; column < SIZE; column++) {
                Vec along = new Vec((column - SIZE / 2.0) / SIZE, (row - SIZE / 2.0) / SIZE, 1).unit();
                shades += (long) (shade(new Vec(0, 0, 0), along, 3) * 255);
            }
            synchronized (SCENE) {
                sum += shades;
            }
        }
    }

    private static double shade(Vec from, Vec along, int depth) {
        double near = Double.POSITIVE_INFINITY;
        Sphere hit = null;
        for (Sphere sphere : SCENE) {
            double distance = sphere.hit(from, along);
            if (distance < near) {
                near = distance;
                hit = sphere;
            }
        }
        if (hit == null) {
            return 0.5;
        }
        Vec at = from.plus(along.times(near));
        Vec normal = at.minus(hit.center).unit();
        double light = Math.max(0, normal.dot(new Vec(0.5, -0.7, -0.5)));
        if (depth == 0) {
            return light;
        }
        Vec mirrored = along.minus(normal.times(2 * along.dot(normal)));
        return 0.7 * light + 0.3 * shade(at.plus(mirrored.times(1e-6)), mirrored, depth - 1);
    }
}
