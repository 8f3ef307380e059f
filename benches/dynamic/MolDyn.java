/** Molecular dynamics with an object per particle: forces between all pairs, shared among threads by rows. */
class MolDyn {
    static final class Particle {
        double x, y, z, vx, vy, vz, fx, fy, fz;
    }

    private static final int PARTICLES = 1600;
    private static final int STEPS = Scale.of(100);

    public static void main(String[] args) throws InterruptedException {
        Particle[] all = new Particle[PARTICLES];
        for (int i = 0; i < PARTICLES; i++) {
            Particle p = new Particle();
            p.x = i % 11;
            p.y = i / 11 % 11;
            p.z = i / 121;
            all[i] = p;
        }
        for (int step = 0; step < STEPS; step++) {
            inTwo(half -> forces(all, half));
            inTwo(half -> move(all, half));
        }
        double energy = 0;
        for (Particle p : all) {
            energy += p.vx * p.vx + p.vy * p.vy + p.vz * p.vz;
        }
        System.out.printf("%.6e%n", energy);
    }

    interface Part {
        void run(int half);
    }

    private static void inTwo(Part part) throws InterruptedException {
        Thread other = new Thread(() -> part.run(1));
        other.start();
        part.run(0);
        other.join();
    }

    private static void forces(Particle[] all, int half) {
        for (int i = half; i < all.length; i += 2) {
            Particle p = all[i];
            double fx = 0, fy = 0, fz = 0;
            for (Particle q : all) {
                double dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
                double r2 = dx * dx + dy * dy + dz * dz + 0.01;
                double f = 1 / (r2 * r2) - 0.1 / r2;
                fx += f * dx;
                fy += f * dy;
                fz += f * dz;
            }
            p.fx = fx;
            p.fy = fy;
            p.fz = fz;
        }
    }

    private static void move(Particle[] all, int half) {
        for (int i = half; i < all.length; i += 2) {
            Particle p = all[i];
            p.vx += p.fx * 1e-4;
            p.vy += p.fy * 1e-4;
            p.vz += p.fz * 1e-4;
            p.x += p.vx * 1e-3;
            p.y += p.vy * 1e-3;
            p.z += p.vz * 1e-3;
        }
    }
}
