/** Methods whose read and write of a field share a probe, as the marks say. */
class Updates {
    int count;
    long total;
    Updates next;
    volatile int seen;
    final int given;
    int[] cells;

    Updates(int given) {
        this.given = given;
    }

    void increment() { // joined
        count++;
    }

    void add(long amount) { // joined
        total += amount;
    }

    void withFinal(int i) { // joined
        total = total * 31 + (given ^ i);
    }

    void sameObject(Updates o) { // joined
        Updates same = o;
        same.count = o.count + 1;
    }

    static int before(Updates o) { // joined
        return o.count++;
    }

    void otherObject(Updates o) {
        o.count = count + 1;
    }

    void otherField() {
        count = (int) total + 1;
    }

    void mayThrow(int by) {
        count = count / by;
    }

    void mayBeNull(Updates o) {
        count = count + o.given;
    }

    void calls() {
        count = count + hashCode();
    }

    void chooses(boolean more) {
        count = more ? count + 1 : 0;
    }

    void reference() {
        next = next.next;
    }

    void isVolatile() {
        seen++;
    }

    void element() {
        count = count + cells[0];
    }

    void replaced(Updates o) {
        int was = o.count;
        o = new Updates(was);
        o.count = was + 1;
    }

    void inSteps() {
        int was = count;
        synchronized (this) {
            count = was + 1;
        }
    }
}
