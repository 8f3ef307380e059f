package bank;

/** Two accounts, one ledger, two threads. */
public class Family {
    public static void main(String[] args) throws InterruptedException {
        Ledger ledger = new Ledger(100);
        Account his = new Account(ledger);
        Account hers = new Account(ledger);
        Thread other = new Thread(() -> his.withdraw(80));
        other.start();
        hers.withdraw(80);
        other.join();
        synchronized (ledger) {
            System.out.println("left: " + ledger.balance());
        }
    }
}
