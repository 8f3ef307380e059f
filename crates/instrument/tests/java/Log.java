package probes;

import java.io.PrintStream;

/** Writes down every probe, one per line: its name and its operands, objects by their classes. */
public class Log {
    private static final PrintStream OUT = open();

    private static PrintStream open() {
        try {
            return new PrintStream(System.getProperty("events"));
        } catch (Exception trouble) {
            throw new Error(trouble);
        }
    }

    static synchronized void add(String probe, Object... operands) {
        StringBuilder line = new StringBuilder(probe);
        for (Object operand : operands) {
            line.append(' ').append(operand instanceof Integer ? operand : operand == null ? "null" : operand.getClass().getName());
        }
        if ((probe.equals("entered") || probe.equals("leaving")) && !Thread.holdsLock(operands[0])) {
            line.append(" without the lock");
        }
        OUT.println(line);
    }
}
