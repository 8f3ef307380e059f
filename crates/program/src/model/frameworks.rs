//! Methods that a framework calls, most of them from many threads at once.
//!
//! Recognised by what a class extends or by the simple names of annotations, so that the same line holds for `javax`
//! and `jakarta`, and for libraries of one's own that follow the fashion.

use super::call::Times::{self, ManyAtOnce, Repeatedly};

/// Methods of classes with one of these ancestors are entry points.
pub(crate) struct ByAncestor {
    /// Binary names.
    pub(crate) ancestors: &'static str,
    pub(crate) methods: Methods,
    pub(crate) times: Times,
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
    },
    ByAncestor {
        ancestors: "javax/servlet/Filter jakarta/servlet/Filter javax/servlet/http/HttpFilter \
                    jakarta/servlet/http/HttpFilter",
        methods: Methods::Named("doFilter"),
        times: ManyAtOnce,
    },
    ByAncestor {
        ancestors: "javax/jms/MessageListener jakarta/jms/MessageListener \
                    org/springframework/amqp/core/MessageListener",
        methods: Methods::Named("onMessage"),
        times: ManyAtOnce,
    },
    ByAncestor { ancestors: "io/grpc/BindableService", methods: Methods::Public, times: ManyAtOnce },
    ByAncestor {
        ancestors: "org/springframework/web/servlet/HandlerInterceptor \
                    org/springframework/web/servlet/AsyncHandlerInterceptor",
        methods: Methods::Named("preHandle postHandle afterCompletion"),
        times: ManyAtOnce,
    },
    ByAncestor {
        ancestors: "org/springframework/web/servlet/mvc/Controller org/springframework/web/HttpRequestHandler",
        methods: Methods::Named("handleRequest"),
        times: ManyAtOnce,
    },
    ByAncestor {
        ancestors: "com/sun/net/httpserver/HttpHandler org/eclipse/jetty/server/Handler \
                    io/undertow/server/HttpHandler",
        methods: Methods::Named("handle handleRequest"),
        times: ManyAtOnce,
    },
    ByAncestor {
        ancestors: "io/netty/channel/ChannelInboundHandler io/netty/channel/ChannelOutboundHandler",
        methods: Methods::Named(
            "channelRead channelRead0 channelReadComplete channelActive channelInactive userEventTriggered \
             exceptionCaught write flush",
        ),
        times: ManyAtOnce,
    },
    ByAncestor { ancestors: "org/quartz/Job", methods: Methods::Named("execute"), times: ManyAtOnce },
    ByAncestor { ancestors: "java/rmi/Remote", methods: Methods::Public, times: ManyAtOnce },
    ByAncestor {
        ancestors: "java/awt/event/ActionListener",
        methods: Methods::Named("actionPerformed"),
        times: Repeatedly,
    },
];

/// Simple names of annotations that make the method they are on an entry point.
pub(crate) const BY_ANNOTATION: &[(&str, Times)] = &[
    // Spring
    ("RequestMapping GetMapping PostMapping PutMapping DeleteMapping PatchMapping", ManyAtOnce),
    ("MessageMapping SubscribeMapping QueryMapping MutationMapping SchemaMapping", ManyAtOnce),
    ("ExceptionHandler ModelAttribute InitBinder", ManyAtOnce),
    ("EventListener TransactionalEventListener Async", ManyAtOnce),
    // JAX-RS
    ("GET POST PUT DELETE PATCH HEAD OPTIONS Path", ManyAtOnce),
    // Messages
    ("JmsListener KafkaListener RabbitListener StreamListener SqsListener ServiceActivator Incoming", ManyAtOnce),
    ("OnMessage OnOpen OnClose OnError", ManyAtOnce),
    // Micronaut, Quarkus, JAX-WS
    ("Get Post Put Delete Patch Route WebMethod", ManyAtOnce),
    ("ObservesAsync Asynchronous", ManyAtOnce),
    // Guava's event bus calls one after the other unless told otherwise.
    ("Subscribe", Repeatedly),
    // Timers: the next run waits for the last one.
    ("Scheduled Schedule Schedules", Repeatedly),
];
