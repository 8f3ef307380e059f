/** Reads of several fields of one object: some can be told together, and whatever happens in between, none is told that does not happen. */
class Straight {
    int a;
    long b;
    double c;
    Straight next;
    volatile int turn;
    final int fixed = 3;

    static class Point {
        double x, y, z;
        volatile int version;
        final int kind = 4;
    }

    public static void main(String[] args) {
        Straight one = new Straight();
        one.a = 1;
        one.b = 2;
        one.c = 3;
        one.next = new Straight();
        Point p = new Point();
        Point q = new Point();
        q.x = 1;
        System.out.println(one.sum() + one.both(one.next) + one.twice(one.next) + one.chain() + one.written(7) + distance(p, q));
        System.out.println(one.after(one.next) + one.called() + one.branch(true) + one.branch(false) + one.five() + versions(p, q));
        System.out.println(one.kinds(p) + kept(one) + one.moved(one.next));
        for (int round = 0; round < 3; round++) {
            try {
                System.out.println(round == 0 ? one.both(null) : round == 1 ? one.twice(null) : distance(p, null));
            } catch (NullPointerException expected) {
                System.out.println("none");
            }
        }
        try {
            System.out.println(one.three(one.next, null));
        } catch (NullPointerException expected) {
            System.out.println("none");
        }
        try {
            System.out.println(one.divided(0));
        } catch (ArithmeticException expected) {
            System.out.println("none");
        }
    }

    double sum() {
        return a + b + c;
    }

    double both(Straight o) {
        return a - o.a + (b - o.b) + (c - o.c);
    }

    double twice(Straight o) {
        return o.a + a * b + o.a + o.b + c + a + a;
    }

    double three(Straight o, Straight third) {
        return o.a + a + third.a + b + o.b + third.b;
    }

    double chain() {
        return a + next.a + b + next.b + c;
    }

    double written(int to) {
        double before = a + b;
        a = to;
        return before + a + b + c;
    }

    double after(Straight o) {
        double first = o.a + o.b;
        o = next;
        return first + o.a + o.b + o.c + turn + o.turn + o.a + o.b;
    }

    double called() {
        return a + sum() + b + c;
    }

    double branch(boolean is) {
        return is ? a + b : b + c;
    }

    double five() {
        return a + b + c + a + b + c + a;
    }

    double kinds(Point p) {
        return p.kind + p.x + fixed + p.y + p.z + fixed + a + b;
    }

    double divided(int by) {
        return a + b / by + c + b;
    }

    double moved(Straight o) {
        double all = 0;
        for (int i = 0; i < 3; i++) {
            all += o.a + o.b * a + c;
            o = o.next == null ? this : o.next;
        }
        return all;
    }

    static double distance(Point p, Point q) {
        double dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        return dx * dx + dy * dy + dz * dz;
    }

    static double versions(Point p, Point q) {
        return p.x + q.version + p.y + p.z + q.x + q.y;
    }

    static int kept(Straight one) {
        synchronized (one) {
            return one.a + (int) one.b;
        }
    }
}
