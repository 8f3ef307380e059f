//! Look-up, and each question with a yes and a no.

use location::{ClassName, Names};

use super::call::Runner;
use super::*;

/// A small hierarchy, as a caller would know it.
const HIERARCHY: &[(&str, &[&str])] = &[
    ("java/util/Collection", &["java/lang/Iterable"]),
    ("java/util/List", &["java/util/Collection"]),
    ("java/util/Set", &["java/util/Collection"]),
    ("java/util/Queue", &["java/util/Collection"]),
    ("java/util/AbstractCollection", &["java/lang/Object", "java/util/Collection"]),
    ("java/util/AbstractList", &["java/util/AbstractCollection", "java/util/List"]),
    ("java/util/ArrayList", &["java/util/AbstractList", "java/util/List"]),
    ("java/util/Vector", &["java/util/AbstractList", "java/util/List"]),
    ("java/util/Stack", &["java/util/Vector"]),
    ("java/util/HashMap", &["java/lang/Object", "java/util/Map"]),
    ("java/util/Hashtable", &["java/util/Dictionary", "java/util/Map"]),
    ("java/util/Collections$SynchronizedMap", &["java/lang/Object", "java/util/Map"]),
    ("java/util/concurrent/ConcurrentMap", &["java/util/Map"]),
    ("java/util/concurrent/ConcurrentHashMap", &["java/util/AbstractMap", "java/util/concurrent/ConcurrentMap"]),
    ("java/util/concurrent/BlockingQueue", &["java/util/Queue"]),
    ("java/util/concurrent/LinkedBlockingQueue", &["java/util/AbstractQueue", "java/util/concurrent/BlockingQueue"]),
    ("java/util/concurrent/CopyOnWriteArrayList", &["java/lang/Object", "java/util/List"]),
    ("java/util/concurrent/ExecutorService", &["java/util/concurrent/Executor"]),
    ("java/util/concurrent/ScheduledExecutorService", &["java/util/concurrent/ExecutorService"]),
    ("java/lang/Thread", &["java/lang/Object", "java/lang/Runnable"]),
    ("com/google/common/collect/RegularImmutableList", &["com/google/common/collect/ImmutableCollection"]),
    ("app/Cache", &["java/util/concurrent/ConcurrentHashMap", "app/Closeable"]),
    ("app/Worker", &["java/lang/Thread"]),
    ("app/Both", &["java/util/Collection", "java/util/Set"]),
    ("app/Circle", &["app/Circle", "java/util/List"]),
    ("app/Hello", &["javax/servlet/http/HttpServlet"]),
];

fn supertypes(names: &Names) -> impl FnMut(ClassName, &mut dyn FnMut(ClassName)) {
    move |class, tell| {
        let known = HIERARCHY.iter().find(|(name, _)| *name == names.text(class.0));
        known.into_iter().flat_map(|(_, above)| *above).for_each(|above| tell(names.class(above)));
    }
}

/// Asks about `java/util/Map.get(Ljava/lang/Object;)Ljava/lang/Object;`.
fn ask(method: &str) -> Option<CallModel> {
    let names = Names::new();
    let models = Models::new(&names);
    let (head, parameters) = method.split_once('(').expect("a descriptor");
    let (class, name) = head.rsplit_once('.').expect("a class");
    let method = names.method(class, name, &format!("({parameters}"));
    models.call(&names, method, &mut supertypes(&names))
}

fn model(method: &str) -> CallModel {
    ask(method).unwrap_or_else(|| panic!("no model of {method}"))
}

const GET: &str = "get(Ljava/lang/Object;)Ljava/lang/Object;";
const PUT_IF_ABSENT: &str = "putIfAbsent(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;";

fn on(class: &str, method: &str) -> CallModel {
    model(&format!("{class}.{method}"))
}

#[test]
fn the_class_asked_about_decides_on_the_section() {
    let section = |class| on(class, GET).section;
    assert_eq!(section("java/util/Map"), Section::None);
    assert_eq!(section("java/util/HashMap"), Section::None);
    assert_eq!(section("java/util/Hashtable"), Section::Monitor);
    assert_eq!(section("java/util/Collections$SynchronizedMap"), Section::Monitor);
    assert_eq!(section("java/util/concurrent/ConcurrentMap"), Section::Own);
    assert_eq!(section("app/Cache"), Section::Own);
}

#[test]
fn the_most_specific_line_counts() {
    // A stack's own `push`, a vector's lock, a list's `get`.
    assert_eq!(on("java/util/Stack", "push(Ljava/lang/Object;)Ljava/lang/Object;").returns, Returns::Argument(0));
    assert_eq!(on("java/util/Stack", "get(I)Ljava/lang/Object;").section, Section::Monitor);
    // `Set` before `Collection`, though the class names `Collection` first.
    assert_eq!(on("app/Both", "add(Ljava/lang/Object;)Z").key, Some(0));
    assert_eq!(on("java/util/Collection", "add(Ljava/lang/Object;)Z").key, None);
    // A snapshot, and a live iterator.
    assert_eq!(
        on("java/util/concurrent/CopyOnWriteArrayList", "iterator()Ljava/util/Iterator;").returns,
        Returns::Fresh
    );
    assert_eq!(on("java/util/Vector", "iterator()Ljava/util/Iterator;").returns, Returns::View(Section::Monitor));
}

#[test]
fn overloads_are_told_apart() {
    assert_eq!(on("java/util/ArrayList", "remove(I)Ljava/lang/Object;").returns, Returns::Removed);
    assert_eq!(on("java/util/ArrayList", "remove(Ljava/lang/Object;)Z").returns, Returns::FromState);
    assert_eq!(ask("java/util/ArrayList.remove(J)V"), None);
}

#[test]
fn what_no_table_names_has_no_model() {
    assert_eq!(ask("app/Cache.refresh()V"), None);
    assert_eq!(ask("app/Unknown.get(Ljava/lang/Object;)Ljava/lang/Object;"), None);
    // Constructors are not inherited.
    assert_eq!(ask("app/Worker.<init>(Ljava/lang/Runnable;)V"), None);
    assert!(ask("app/Circle.size()I").is_some(), "a hierarchy in circles ends");
}

#[test]
fn a_class_is_in_one_table() {
    let mut classes: Vec<String> = FAMILIES.iter().copied().flatten().flat_map(line::Table::class_names).collect();
    classes.sort();
    let twice: Vec<&String> = classes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert_eq!(twice, Vec::<&String>::new());
}

#[test]
fn a_kept_ancestry_gives_the_same_answer() {
    let names = Names::new();
    let models = Models::new(&names);
    let class = names.class("app/Cache");
    let ancestry = models.ancestry(class, &mut supertypes(&names));
    let method = names.method("app/Cache", "get", "(Ljava/lang/Object;)Ljava/lang/Object;");
    assert_eq!(models.call_in(&names, &ancestry, method), models.call(&names, method, &mut supertypes(&names)));
    assert!(models.ancestry(names.class("app/Closeable"), &mut supertypes(&names)).is_empty());
}

#[test]
fn states() {
    assert_eq!(on("java/util/List", "size()I").state, State::Contents);
    assert_eq!(on("java/util/concurrent/atomic/AtomicInteger", "get()I").state, State::Value);
    assert_eq!(on("java/lang/StringBuffer", "length()I").state, State::Chars);
    let copy = on("java/lang/System", "arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V");
    let effects: Vec<Effect> = copy.effects().collect();
    let effect = |index, access| Effect { target: Target::Argument(index), state: State::Elements, access };
    assert_eq!(effects, [effect(0, Access::Read), effect(2, Access::Write)]);
}

#[test]
fn accesses() {
    assert_eq!(on("java/util/Map", "containsKey(Ljava/lang/Object;)Z").access, Access::Read);
    assert_eq!(on("java/util/Map", "clear()V").access, Access::Write);
    assert_eq!(on("java/util/Iterator", "next()Ljava/lang/Object;").target, Target::Viewed);
    assert_eq!(on("java/util/List", "clear()V").target, Target::Receiver);
    let append = on("java/lang/StringBuffer", "append(Ljava/lang/StringBuffer;)Ljava/lang/StringBuffer;");
    assert!(append.reads_arguments.contains(0));
    assert!(!on("java/lang/StringBuffer", "append(I)Ljava/lang/StringBuffer;").reads_arguments.contains(0));
}

#[test]
fn compound_operations() {
    assert!(on("java/util/concurrent/ConcurrentHashMap", PUT_IF_ABSENT).is_compound());
    assert!(!on("java/util/HashMap", PUT_IF_ABSENT).is_compound());
    assert!(on("java/util/HashMap", PUT_IF_ABSENT).within(Section::Monitor).is_compound());
    assert!(!on("java/util/concurrent/ConcurrentHashMap", GET).is_compound());
    // Element by element, unless a lock covers them all.
    let put_all = "putAll(Ljava/util/Map;)V";
    assert!(!on("java/util/concurrent/ConcurrentHashMap", put_all).is_atomic);
    assert!(on("java/util/Hashtable", put_all).is_atomic);
    let add_all = "addAll(Ljava/util/Collection;)Z";
    assert!(on("java/util/concurrent/CopyOnWriteArrayList", add_all).is_atomic);
    assert!(!on("java/util/concurrent/LinkedBlockingQueue", add_all).is_atomic);
}

#[test]
fn revalidation() {
    let map = "java/util/concurrent/ConcurrentHashMap";
    let replace = "replace(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Z";
    assert_eq!(on(map, replace).revalidates, Some(Revalidation::Expects(1)));
    assert_eq!(on(map, "remove(Ljava/lang/Object;Ljava/lang/Object;)Z").revalidates, Some(Revalidation::Expects(1)));
    assert_eq!(on(map, PUT_IF_ABSENT).revalidates, Some(Revalidation::ByResult));
    assert_eq!(on(map, "replace(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;").revalidates, None);
    let atomic = "java/util/concurrent/atomic/AtomicInteger";
    assert_eq!(on(atomic, "compareAndSet(II)Z").revalidates, Some(Revalidation::Expects(0)));
    assert_eq!(on(atomic, "getAndSet(I)I").revalidates, None);
    // A handle's variable takes as many arguments as it needs.
    let handle = "java/lang/invoke/VarHandle";
    assert_eq!(on(handle, "compareAndSet(Lapp/Cache;II)Z").revalidates, Some(Revalidation::Expects(1)));
    assert_eq!(on(handle, "compareAndSet([III)Z").revalidates, Some(Revalidation::Expects(1)));
    assert_eq!(on(handle, "compareAndSet(II)Z").revalidates, Some(Revalidation::Expects(0)));
    assert_eq!(on(handle, "compareAndSet()Z").revalidates, None);
}

#[test]
fn keys() {
    assert_eq!(on("java/util/Map", GET).key, Some(0));
    assert_eq!(on("java/util/concurrent/atomic/AtomicIntegerArray", "incrementAndGet(I)I").key, Some(0));
    assert_eq!(on("java/util/Map", "size()I").key, None);
    assert_eq!(on("java/util/List", "remove(I)Ljava/lang/Object;").key, None, "it moves the others");
}

#[test]
fn hand_over() {
    let poll = "poll()Ljava/lang/Object;";
    assert_eq!(on("java/util/Queue", poll).returns, Returns::Removed);
    assert_eq!(on("java/util/Queue", "peek()Ljava/lang/Object;").returns, Returns::FromState);
    assert_eq!(on("java/util/Map", "remove(Ljava/lang/Object;)Ljava/lang/Object;").returns, Returns::Removed);
    assert_eq!(on("java/util/Iterator", "next()Ljava/lang/Object;").returns, Returns::FromState);
    let drain = on("java/util/concurrent/LinkedBlockingQueue", "drainTo(Ljava/util/Collection;)I");
    assert_eq!(drain.returns, Returns::RemovedInto(0));
    let exchange = "getAndSet(Ljava/lang/Object;)Ljava/lang/Object;";
    assert_eq!(on("java/util/concurrent/atomic/AtomicReference", exchange).returns, Returns::Replaced(0));
}

#[test]
fn views_and_fresh_objects() {
    let views = [
        ("java/util/Collections$SynchronizedMap", "keySet()Ljava/util/Set;", Section::Monitor),
        ("java/util/concurrent/ConcurrentHashMap", "values()Ljava/util/Collection;", Section::Own),
        ("java/util/Hashtable", "elements()Ljava/util/Enumeration;", Section::None),
        ("java/util/List", "subList(II)Ljava/util/List;", Section::None),
    ];
    for (class, method, section) in views {
        assert_eq!(on(class, method).returns, Returns::View(section), "{class}.{method}");
    }
    assert_eq!(on("java/util/ArrayList", "toArray()[Ljava/lang/Object;").returns, Returns::Fresh);
    assert_eq!(on("java/lang/StringBuilder", "append(C)Ljava/lang/StringBuilder;").returns, Returns::Receiver);
}

#[test]
fn functions_in_place() {
    let compute = "computeIfAbsent(Ljava/lang/Object;Ljava/util/function/Function;)Ljava/lang/Object;";
    let of_map = on("java/util/concurrent/ConcurrentHashMap", compute);
    assert_eq!((of_map.runs.iter().collect::<Vec<_>>(), of_map.runs_inside), (vec![1], true));
    let update = "updateAndGet(Ljava/util/function/IntUnaryOperator;)I";
    let of_atomic = on("java/util/concurrent/atomic/AtomicInteger", update);
    assert!(of_atomic.runs.contains(0) && !of_atomic.runs_inside && of_atomic.is_atomic);
    let each = "forEach(Ljava/util/function/Consumer;)V";
    assert!(on("java/util/Vector", each).runs_inside);
    assert!(!on("java/util/ArrayList", each).runs_inside);
    assert!(on("java/util/Map", GET).runs.is_empty());
}

#[test]
fn starts() {
    let start = on("app/Worker", "start()V").starts;
    assert_eq!(start, Some(Start { task: Task::Receiver, times: Times::Once, on: Runner::NewThread }));
    assert_eq!(on("java/lang/Thread", "<init>(Ljava/lang/Runnable;Ljava/lang/String;)V").wraps, Some(0));
    assert_eq!(on("java/lang/Thread", "<init>(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;)V").wraps, Some(1));
    assert_eq!(on("java/lang/Thread", "<init>(Ljava/lang/String;)V").wraps, None);
    let rate = "scheduleAtFixedRate(Ljava/lang/Runnable;JJLjava/util/concurrent/TimeUnit;)\
                Ljava/util/concurrent/ScheduledFuture;";
    let start = on("java/util/concurrent/ScheduledExecutorService", rate).starts.expect("it starts its task");
    assert_eq!((start.task, start.times), (Task::Argument(0), Times::Repeatedly));
    let once = "schedule(Ljava/util/TimerTask;J)V";
    assert_eq!(on("java/util/Timer", once).starts.map(|start| start.times), Some(Times::Once));
    let again = "schedule(Ljava/util/TimerTask;JJ)V";
    assert_eq!(on("java/util/Timer", again).starts.map(|start| start.times), Some(Times::Repeatedly));
    let supply = "supplyAsync(Ljava/util/function/Supplier;Ljava/util/concurrent/Executor;)\
                  Ljava/util/concurrent/CompletableFuture;";
    let start = on("java/util/concurrent/CompletableFuture", supply).starts.expect("it starts its task");
    assert_eq!(start.on, Runner::Argument(1));
    assert_eq!(on("java/lang/Thread", "interrupt()V").starts, None);
}

#[test]
fn executors() {
    let pool = |method: &str| on("java/util/concurrent/Executors", method).product;
    let service = "Ljava/util/concurrent/ExecutorService;";
    assert_eq!(pool(&format!("newSingleThreadExecutor(){service}")), Some(Product::Executor(Pool::Single)));
    assert_eq!(pool(&format!("newFixedThreadPool(I){service}")), Some(Product::Executor(Pool::Sized(0))));
    assert_eq!(pool(&format!("newVirtualThreadPerTaskExecutor(){service}")), Some(Product::Executor(Pool::Many)));
    assert_eq!(pool("defaultThreadFactory()Ljava/util/concurrent/ThreadFactory;"), None);
    let timer = on("java/util/Timer", "<init>()V").product;
    assert_eq!(timer, Some(Product::Executor(Pool::Single)));
}

#[test]
fn orders() {
    let order = |class: &str, method: &str| on(class, method).orders.map(|order| (order.kind, order.when));
    assert_eq!(order("app/Worker", "join()V"), Some((OrderKind::Join, When::Always)));
    assert_eq!(order("app/Worker", "join(J)V"), Some((OrderKind::Join, When::Perhaps)));
    let terminate = "awaitTermination(JLjava/util/concurrent/TimeUnit;)Z";
    let service = "java/util/concurrent/ScheduledExecutorService";
    assert_eq!(order(service, terminate), Some((OrderKind::JoinAll, When::IfTrue)));
    assert_eq!(order(service, "shutdown()V"), None);
    let latch = "java/util/concurrent/CountDownLatch";
    assert_eq!(order(latch, "countDown()V"), Some((OrderKind::Signal, When::Always)));
    assert_eq!(order(latch, "await()V"), Some((OrderKind::Await, When::Always)));
    assert_eq!(order(latch, "getCount()J"), None);
    assert_eq!(order("java/util/concurrent/CyclicBarrier", "await()I"), Some((OrderKind::Meet, When::Always)));
}

#[test]
fn sinks() {
    assert_eq!(on("java/io/PrintStream", "println(Ljava/lang/String;)V").sink, Some(Sink::Print));
    assert_eq!(on("org/slf4j/Logger", "info(Ljava/lang/String;)V").sink, Some(Sink::Log));
    assert_eq!(on("org/slf4j/Logger", "isInfoEnabled()Z").sink, None);
    assert_eq!(on("java/io/ByteArrayOutputStream", "write(I)V").sink, None);
    let names = Names::new();
    let is_console =
        |class, field| Models::new(&names).is_console(&names, names.field(class, field, "Ljava/io/PrintStream;"));
    assert!(is_console("java/lang/System", "err"));
    assert!(!is_console("app/Cache", "out"));
}

#[test]
fn locks_are_told_from_other_calls() {
    assert!(on("java/util/concurrent/locks/Lock", "lock()V").is_lock_operation);
    assert!(on("app/Worker", "wait()V").is_lock_operation);
    assert!(!on("java/util/concurrent/locks/ReentrantLock", "isLocked()Z").is_lock_operation);
}

#[test]
fn factories() {
    let made = |class: &str, method: &str| on(class, method).product;
    let wrap = "synchronizedMap(Ljava/util/Map;)Ljava/util/Map;";
    assert_eq!(made("java/util/Collections", wrap), Some(Product::Synchronized));
    let show = "unmodifiableMap(Ljava/util/Map;)Ljava/util/Map;";
    assert_eq!(made("java/util/Collections", show), Some(Product::Unmodifiable));
    assert_eq!(made("java/util/List", "of(Ljava/lang/Object;)Ljava/util/List;"), Some(Product::Immutable));
    assert_eq!(made("java/util/EnumSet", "noneOf(Ljava/lang/Class;)Ljava/util/EnumSet;"), None);
    assert!(on("java/util/ArrayList", "<init>(Ljava/util/Collection;)V").reads_arguments.contains(0));
    assert_eq!(on("java/util/Vector", "<init>(Ljava/util/Collection;)V").section, Section::None);
}

#[test]
fn what_never_changes() {
    let names = Names::new();
    let models = Models::new(&names);
    let is_immutable = |class: &str| models.is_immutable(&names, names.class(class), &mut supertypes(&names));
    assert!(is_immutable("java/lang/String"));
    assert!(is_immutable("java/time/Instant"));
    assert!(is_immutable("java/lang/Enum"));
    assert!(is_immutable("com/google/common/collect/RegularImmutableList"));
    assert!(!is_immutable("java/util/ArrayList"));
    assert!(!is_immutable("java/util/Date"));
    // Methods of values touch nothing, though a `CharSequence` may change.
    assert_eq!(on("java/lang/String", "length()I").access, Access::None);
    assert_eq!(on("java/lang/String", "substring(I)Ljava/lang/String;").returns, Returns::Computed);
    assert_eq!(on("java/lang/CharSequence", "length()I").access, Access::Read);
}

#[test]
fn task_entry_methods() {
    let names = Names::new();
    let models = Models::new(&names);
    let entry = |class: &str| {
        let method = models.task_entry(&names, names.class(class), &mut supertypes(&names))?;
        Some(format!("{}{}", names.text(method.name), names.text(method.descriptor)))
    };
    assert_eq!(entry("java/util/concurrent/Callable").as_deref(), Some("call()Ljava/lang/Object;"));
    assert_eq!(entry("app/Worker").as_deref(), Some("run()V"));
    assert_eq!(entry("app/Cache"), None);
}
