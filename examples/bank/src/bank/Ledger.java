package bank;

/** The money of a family. Whoever touches it holds its lock. */
class Ledger {
    private long balance;

    Ledger(long balance) {
        this.balance = balance;
    }

    long balance() {
        return balance;
    }

    void take(long amount) {
        balance -= amount;
    }
}
