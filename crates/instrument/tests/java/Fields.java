import java.util.ArrayList;
import java.util.List;

/** Fields, and behind each whether only constructors write it, to an object that nobody else has. */
class Fields {
    private static final List<Object> ALL = new ArrayList<>();
    static int shared;

    int set; // constant
    private String kept = "kept"; // constant
    private int never; // constant
    private int[] filled = {1, 2}; // constant
    private Object[][] grid = new Object[2][3]; // constant
    private String said; // constant
    private Runnable handed;
    Object own; // constant
    int chosen; // constant
    int looped; // constant
    int early; // constant
    int counted;
    int given;
    int inner;
    int below;
    int after;
    int round;
    int delegated;
    protected int open;
    public int shown;
    final int last;
    volatile int seen;

    Fields(int value) {
        set = value;
        own = this;
        said = "value " + value;
        chosen = value > 3 ? value : kept.length();
        int sum = 0;
        for (int i = 0; i < value; i++) {
            sum += i;
            looped = sum;
        }
        open = value;
        shown = value;
        last = value;
        seen = value;
        shared = value;
        early = sum;
        for (int i = 0; i < value; i++) {
            round = i;
            ALL.add(this);
        }
        after = value;
        handed = () -> System.out.println(set);
    }

    Fields(String text) {
        last = text.length();
        handed = () -> System.out.println(text);
    }

    Fields() {
        this(4);
        delegated = 1;
    }

    void count() {
        counted++;
        Runnable task = () -> inner += never;
        task.run();
    }

    final class Inner {
        /** Written before the object is one. */
        private int value; // constant

        Inner(int value) {
            this.value = value;
        }
    }
}

class Other {
    static void give(Fields fields) {
        fields.given = 2;
    }
}

class Below extends Fields {
    /** The constructor above may hand the object to anybody. */
    int late;

    Below() {
        super(2);
        late = 3;
    }

    void set() {
        below = 5;
    }
}
