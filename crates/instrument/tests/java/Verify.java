import java.io.DataInputStream;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** Links every class of a pack, or every class of a list in the boot loader, and tells which do not verify. */
public class Verify {
    static class Loader extends ClassLoader {
        final Map<String, byte[]> classes = new LinkedHashMap<>();

        Loader() {
            super(Verify.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) {
                    return loaded;
                }
                byte[] bytes = classes.get(name);
                if (bytes == null) {
                    return super.loadClass(name, resolve);
                }
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Loader loader = new Loader();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(args[0])))) {
            int count = in.readInt();
            for (int i = 0; i < count; i++) {
                String name = new String(in.readNBytes(in.readInt()), "UTF-8").replace('/', '.');
                loader.classes.put(name, in.readNBytes(in.readInt()));
            }
        }
        boolean isBoot = args.length > 1;
        int good = 0;
        int other = 0;
        for (String name : loader.classes.keySet()) {
            try {
                // Asking for members links the class without running its initializer.
                Class.forName(name, false, isBoot ? null : loader).getDeclaredConstructors();
                good++;
            } catch (VerifyError | ClassFormatError | ClassCircularityError bad) {
                System.out.println("bad " + name + ": " + bad.toString().replace('\n', ' '));
            } catch (LinkageError | ClassNotFoundException | SecurityException | TypeNotPresentException missing) {
                other++;
                if (args.length > 2) {
                    System.out.println("other " + name + ": " + missing);
                }
            }
        }
        System.out.println("good " + good + " other " + other);
    }
}
