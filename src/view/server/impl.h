/* impl.h - shared by server.c, listen.c, jobs.c and answer.c
 *
 * libmicrohttpd has one thread (two if it listens on IPv4 and IPv6), which only reads requests and sends answers. A
 * request that needs computation becomes a job: its connection is suspended, one of our workers makes the answer, and
 * the connection is resumed. A watcher enforces time limits: it closes slow connections, ends long polls, and cancels
 * jobs of disconnected clients. Long jobs use some of the workers; one that runs for half a second gives its slot to
 * another job and continues, up to a limit, of which one client may use half: clients take turns.
 *
 * One lock, view->lock. Lock order: view->lock, then the session's lock and libmicrohttpd's.
 *
 * In: HTTP. Out: HTTP; the routes in between know nothing of it. Begin with server.c.
 */
#ifndef HD_VIEW_SERVER_IMPL_H
#define HD_VIEW_SERVER_IMPL_H

#include <pthread.h>

#include "base/clock.h"
#include "base/io/compress.h"
#include "view/server/http.h"
#include "view/server/microhttpd.h"
#include "view/server/page.h"
#include "view/server/run.h"
#include "view/session/session.h"

enum {
    VIEW_WORKERS_MAX = 18,
    VIEW_WORKERS_MORE = 16,            /* for long jobs that have run for limits.long_ms: they do not block others */
    VIEW_LONG_OF_ONE = 8,              /* long jobs of one client (address) that run at once */
    VIEW_CONNECTION_MEMORY = 64 << 10, /* the head of a request must fit */
    VIEW_SLOW_BYTES_A_MS = 16,         /* minimum rate of bodies and answers: 16 kB/s */
    VIEW_LOST_BYTES = 64 << 20,
    VIEW_TICK_MS = 50, /* while jobs run, their clients are looked at */
    VIEW_IDLE_TICK_MS = 250,
    VIEW_SPARE = 8, /* connections: from an eighth below the limit on, an idle one is closed for each new one */
};

/* Limits that tests change. */
typedef struct view_limits {
    const view_route *routes;
    unsigned connections;
    int64_t slow_ms;    /* without progress a connection ends */
    uint64_t body_room; /* largest body, if the disk has room for it */
    int64_t poll_ms;    /* a long poll is answered */
    int64_t long_ms;    /* a long job then gives its slot to another, and continues */
} view_limits;

#define VIEW_LIMITS ((view_limits){view_routes, 1024, 30000, UINT64_MAX, 20000, 500})

/* A connection. In the list of the view. */
typedef struct view_client {
    struct view_client *next, *previous;
    hd_view *view;
    int fd;
    uint64_t address;    /* of the machine: IPv4, the first half of IPv6 */
    int64_t deadline_ms; /* the connection is closed then; 0: a job runs, nothing is awaited from the client */
    bool is_shut;
} view_client;

typedef enum view_job_state {
    VIEW_JOB_NEW,     /* the head is there */
    VIEW_JOB_BODY,    /* of the request is being received */
    VIEW_JOB_QUEUED,  /* waits for a worker: in the list of the view from here on, its connection suspended */
    VIEW_JOB_PARKED,  /* a long poll */
    VIEW_JOB_RUNNING, /* a worker has it */
    VIEW_JOB_DONE,    /* the answer is there, the connection goes on: not in the list any more */
    VIEW_JOB_SENT,    /* the answer is queued */
} view_job_state;

/* A request. */
typedef struct view_job {
    struct view_job *next, *previous;
    hd_view *view;
    view_client *client;
    struct MHD_Connection *connection;
    view_job_state state;
    view_target target;
    view_request request;
    const view_route *route;
    view_reply reply;
    hd_error err;
    atomic_bool gone;
    int64_t run_since_ms; /* by a worker */
    bool gave_place;      /* it has run for long, and does not count among view->running_long */
    bool is_begun;        /* the head was looked at */
    bool has_run;         /* reply is the route's */
    bool zstd, gzip;      /* the client accepts */
    const char *encoding; /* of the reply, NULL: none */
    int64_t parked_until_ms, started_ms;
    int body; /* file of the request's body, -1: none */
    uint64_t body_size, body_room;
    uint64_t
        body_lost; /* bytes that there was no room for, of which some are awaited: there is no answer before the end */
} view_job;

struct hd_view {
    view_limits limits;
    view_session *session;
    view_names names;
    char *listen, *hostname;
    bool framed;                     /* as in hd_view_options */
    bool shows_job;                  /* of .hds files alone, which are one revision of the job (view/ranks/ranks.h) */
    char token[VIEW_TOKEN_TEXT + 1]; /* "": none is demanded */
    char cookie[24];                 /* its name */
    uint16_t port;
    char *url;
    struct MHD_Daemon *daemons[2];
    int sockets[2];
    unsigned daemon_count, socket_count;
    pthread_mutex_t lock;
    pthread_cond_t work, watch, idle;
    view_client *clients;
    unsigned client_count, client_limit;
    view_job *jobs; /* in order of arrival, first and last */
    view_job *last_job;
    unsigned worker_count, running, running_long;
    unsigned long_limit;       /* maximum of running_long */
    unsigned gave_place;       /* long jobs that run in addition to those */
    bool stopping, ending;     /* no new jobs; threads go */
    bool is_quiet, is_stopped; /* no new connections are accepted; all threads of the server ended */
    pthread_t workers[VIEW_WORKERS_MAX + VIEW_WORKERS_MORE], watcher;
    bool has_watcher;
};

void view_condition_init(pthread_cond_t *out);

/* server.c: hd_view_start with other limits. */
hd_status view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                     const view_limits *limits, hd_error *err);

/* listen.c: fills sockets, port, url. */
hd_status view_listen(hd_view *view, const hd_view_options *options, hd_error *err);

/* jobs.c */
hd_status view_jobs_start(hd_view *view, hd_error *err);
/* Whether all threads ended within that time; after that none of the connections is suspended. */
bool view_jobs_stop(hd_view *view, unsigned milliseconds);
/* Suspends the job's connection until a worker has answered; false: the server is about to stop. */
bool view_job_queue(view_job *job);
void view_jobs_news(void *view); /* of the session */
void view_client_deadline(view_client *client, int64_t at_ms);
/* Near the connection limit, closes the one that has been idle longest. The lock is held. */
void view_client_make_room(hd_view *view);

/* answer.c: callbacks of libmicrohttpd. */
enum MHD_Result view_answer(void *view, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *upload_data, size_t *upload_data_size, void **job);
void *view_answer_begin(void *view, const char *uri, struct MHD_Connection *connection);
void view_answer_end(void *view, struct MHD_Connection *connection, void **job, enum MHD_RequestTerminationCode why);
void view_answer_connection(void *view, struct MHD_Connection *connection, void **client,
                            enum MHD_ConnectionNotificationCode what);

/* reply.c: the answer of a route as it is sent. */
void view_job_run(view_job *job, hd_compressor *compressor);
struct MHD_Response *view_job_response(view_job *job, unsigned *out_status);
struct MHD_Response *view_page_response(const view_page_file *file, const view_job *job, const char *if_none_match,
                                        unsigned *out_status);
/* {"error": text} */
struct MHD_Response *view_error_response(const char *text);

#endif
