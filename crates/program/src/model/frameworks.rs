//! Methods that a framework calls, most of them from many threads at once.
//!
//! Recognised by what a class extends or by the simple names of annotations, so that the same line holds for `javax`
//! and `jakarta`, and for libraries of one's own that follow the fashion.

use Instances::{Each, One};

use super::call::Times::{self, ManyAtOnce, Repeatedly};

/// Methods of classes with one of these ancestors are entry points.
pub(crate) struct ByAncestor {
    /// Binary names.
    pub(crate) ancestors: &'static str,
    pub(crate) methods: Methods,
    pub(crate) times: Times,
    pub(crate) objects: Instances,
}

/// How many objects of a class a framework makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instances {
    /// One, which all calls are of.
    One,
    /// One for each call, or for each of something whose calls come one after the other: a connection, a message consumer.
    Each,
}

pub(crate) enum Methods {
    /// By name.
    Named(&'static str),
    /// What the class overrides or adds and others may call.
    Public,
}

pub(crate) const BY_ANCESTOR: &[ByAncestor] = &[
    ByAncestor {
        ancestors: "javax/servlet/Servlet javax/servlet/GenericServlet javax/servlet/http/HttpServlet \
                    jakarta/servlet/Servlet jakarta/servlet/GenericServlet jakarta/servlet/http/HttpServlet",
        methods: Methods::Named("service doGet doPost doPut doDelete doHead doOptions doTrace doPatch"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor {
        ancestors: "javax/servlet/Filter jakarta/servlet/Filter javax/servlet/http/HttpFilter \
                    jakarta/servlet/http/HttpFilter",
        methods: Methods::Named("doFilter"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor {
        ancestors: "javax/jms/MessageListener jakarta/jms/MessageListener \
                    org/springframework/amqp/core/MessageListener",
        methods: Methods::Named("onMessage"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor { ancestors: "io/grpc/BindableService", methods: Methods::Public, times: ManyAtOnce, objects: One },
    ByAncestor {
        ancestors: "org/springframework/web/servlet/HandlerInterceptor \
                    org/springframework/web/servlet/AsyncHandlerInterceptor",
        methods: Methods::Named("preHandle postHandle afterCompletion"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor {
        ancestors: "org/springframework/web/servlet/mvc/Controller org/springframework/web/HttpRequestHandler",
        methods: Methods::Named("handleRequest"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor {
        ancestors: "com/sun/net/httpserver/HttpHandler org/eclipse/jetty/server/Handler \
                    io/undertow/server/HttpHandler",
        methods: Methods::Named("handle handleRequest"),
        times: ManyAtOnce,
        objects: One,
    },
    ByAncestor {
        ancestors: "io/netty/channel/ChannelInboundHandler io/netty/channel/ChannelOutboundHandler",
        methods: Methods::Named(
            "channelRead channelRead0 channelReadComplete channelActive channelInactive userEventTriggered \
             exceptionCaught write flush",
        ),
        times: ManyAtOnce,
        objects: Each,
    },
    ByAncestor { ancestors: "org/quartz/Job", methods: Methods::Named("execute"), times: ManyAtOnce, objects: Each },
    ByAncestor {
        ancestors: "com/opensymphony/xwork2/Action com/opensymphony/xwork2/ActionSupport",
        methods: Methods::Named("execute"),
        times: ManyAtOnce,
        objects: Each,
    },
    ByAncestor { ancestors: "java/rmi/Remote", methods: Methods::Public, times: ManyAtOnce, objects: One },
    ByAncestor {
        ancestors: "java/awt/event/ActionListener",
        methods: Methods::Named("actionPerformed"),
        times: Repeatedly,
        objects: One,
    },
];

/// Simple names of annotations that make the method they are on an entry point.
pub(crate) const BY_ANNOTATION: &[(&str, Times, Instances)] = &[
    // Spring
    ("RequestMapping GetMapping PostMapping PutMapping DeleteMapping PatchMapping", ManyAtOnce, One),
    ("MessageMapping SubscribeMapping QueryMapping MutationMapping SchemaMapping", ManyAtOnce, One),
    ("ExceptionHandler ModelAttribute InitBinder", ManyAtOnce, One),
    ("EventListener TransactionalEventListener Async", ManyAtOnce, One),
    // JAX-RS
    ("GET POST PUT DELETE PATCH HEAD OPTIONS Path", ManyAtOnce, Each),
    // Messages
    ("JmsListener KafkaListener RabbitListener StreamListener SqsListener ServiceActivator Incoming", ManyAtOnce, One),
    ("OnMessage OnOpen OnClose OnError", ManyAtOnce, Each),
    // Micronaut, Quarkus, JAX-WS
    ("Get Post Put Delete Patch Route WebMethod", ManyAtOnce, One),
    ("ObservesAsync Asynchronous", ManyAtOnce, One),
    // Guava's event bus calls one after the other unless told otherwise.
    ("Subscribe", Repeatedly, One),
    // Timers: the next run waits for the last one.
    ("Scheduled Schedule Schedules", Repeatedly, One),
];

/// Simple names of annotations of classes of which there is one object, whatever their methods say.
pub(crate) const ONE_OBJECT: &[&str] =
    &["Singleton", "ApplicationScoped", "Component", "Service", "Controller", "RestController", "Sharable"];

/// Simple names of annotations of classes of which each call, or each of something whose calls come one after the other, has
/// an object of its own. A session is none of these: two requests of one browser come at once.
pub(crate) const OBJECT_OF_EACH: &[&str] =
    &["RequestScope", "RequestScoped", "Stateless", "Stateful", "MessageDriven", "Dependent", "ServerEndpoint"];

/// The same of `@Scope`, by what it names.
pub(crate) const SCOPES_OF_EACH: &[&str] = &["prototype", "request"];
