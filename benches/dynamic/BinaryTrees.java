/** Makes and walks trees, nothing else. */
class BinaryTrees {
    static final class Node {
        Node left;
        Node right;

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        int count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    private static final int TREES = Scale.of(700);
    private static long total;

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(BinaryTrees::work);
        other.start();
        work();
        other.join();
        System.out.println(total);
    }

    private static void work() {
        long count = 0;
        for (int i = 0; i < TREES; i++) {
            count += tree(15).count();
        }
        synchronized (BinaryTrees.class) {
            total += count;
        }
    }

    private static Node tree(int depth) {
        return depth == 0 ? new Node(null, null) : new Node(tree(depth - 1), tree(depth - 1));
    }
}
