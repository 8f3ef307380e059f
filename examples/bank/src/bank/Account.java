package bank;

/** One of several accounts that draw on one ledger. Every access to the ledger is locked, and still it is overdrawn. */
class Account {
    private final Ledger ledger;

    Account(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Takes the amount if it is there. Locking the account says: all of this is one step. */
    synchronized boolean withdraw(long amount) {
        boolean isEnough;
        synchronized (ledger) {
            isEnough = ledger.balance() >= amount;
        }
        if (isEnough) {
            synchronized (ledger) {
                ledger.take(amount);
            }
        }
        return isEnough;
    }

    /** The same done right: the ledger is held from the question to the deed. */
    synchronized boolean withdrawSafely(long amount) {
        synchronized (ledger) {
            boolean isEnough = ledger.balance() >= amount;
            if (isEnough) {
                ledger.take(amount);
            }
            return isEnough;
        }
    }
}
