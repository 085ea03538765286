/* listen.c - the sockets of the server, and its address for people */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "view/server/impl.h"

enum { BACKLOG = 512, PORTS_TRIED = 100 };

/* A socket that listens; -1 with errno. *port 0 becomes the one that the system chose. */
static int listen_at(const struct sockaddr *address, socklen_t size, uint16_t *port)
{
    struct sockaddr_storage own;
    socklen_t own_size = sizeof own;
    int on = 1, family = address->sa_family;
    memcpy(&own, address, size);
    if (family == AF_INET6)
        ((struct sockaddr_in6 *)&own)->sin6_port = htons(*port);
    else
        ((struct sockaddr_in *)&own)->sin_port = htons(*port);
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&own, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &own_size) == 0) {
        *port = ntohs(family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                         : ((struct sockaddr_in *)&own)->sin_port);
        return fd;
    }
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

/* 127.0.0.1, and ::1 if the machine has it: a browser may use either for localhost. */
static bool listen_here(hd_view *view, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    view->port = port;
    view->sockets[0] = listen_at((const struct sockaddr *)&v4, sizeof v4, &view->port);
    if (view->sockets[0] < 0) return false;
    view->socket_count = 1;
    view->sockets[1] = listen_at((const struct sockaddr *)&v6, sizeof v6, &view->port);
    if (view->sockets[1] >= 0) {
        view->socket_count = 2;
    } else if (errno == EADDRINUSE) {
        close(view->sockets[0]);
        view->sockets[0] = -1; /* by now the number may be somebody else's */
        view->socket_count = 0;
        errno = EADDRINUSE;
        return false;
    }
    return true;
}

static bool listen_on(hd_view *view, const struct addrinfo *addresses, uint16_t port)
{
    view->port = port;
    for (const struct addrinfo *a = addresses; a; a = a->ai_next) {
        view->sockets[0] = listen_at(a->ai_addr, a->ai_addrlen, &view->port);
        if (view->sockets[0] < 0) continue;
        view->socket_count = 1;
        view->names.any_address =
            a->ai_family == AF_INET6
                ? IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr)
                : ((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr.s_addr == htonl(INADDR_ANY);
        return true;
    }
    return false;
}

static hd_status find_addresses(struct addrinfo **out, const char *listen, hd_error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    *out = NULL;
    int problem = getaddrinfo(listen, NULL, &hints, out);
    if (problem == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "cannot listen on '%.100s': %s; give an address of this machine, or 0.0.0.0 for all", listen,
                        gai_strerror(problem));
}

static hd_status refuse(const hd_view_options *options, int problem, hd_error *err)
{
    const char *where = options->listen ? options->listen : "this machine";
    if (problem == EADDRINUSE)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "port %u of %.100s is taken: stop what listens there, or choose another with --port "
                            "(--port 0 takes any free one)",
                            options->port, where);
    if (problem == EACCES)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "port %u may not be listened on: choose one above 1023 with --port", options->port);
    return hd_error_set(err, problem == EADDRNOTAVAIL ? HD_ERR_ARGUMENT : HD_ERR_IO, NULL, HD_OFFSET_NONE,
                        "cannot listen on %.100s: %s", where, strerror(problem));
}

static hd_status write_url(hd_view *view, hd_error *err)
{
    const char *host = view->listen ? view->listen : "localhost";
    if (view->names.any_address) host = view->hostname ? view->hostname : "localhost";
    bool bare_v6 = strchr(host, ':') && host[0] != '[';
    if (asprintf(&view->url, "http://%s%s%s:%u/%s%s", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", view->port,
                 view->token[0] ? "?token=" : "", view->token) < 0) {
        view->url = NULL;
        return HD_NOMEM(err);
    }
    snprintf(view->cookie, sizeof view->cookie, "heddle_%u", view->port);
    return HD_OK;
}

hd_status view_listen(hd_view *view, const hd_view_options *options, hd_error *err)
{
    struct addrinfo *addresses = NULL;
    if (options->listen) HD_TRY(find_addresses(&addresses, options->listen, err));
    unsigned tries = options->next_port || options->port == 0 ? PORTS_TRIED : 1;
    bool found = false;
    int problem = 0;
    for (unsigned i = 0; i < tries && !found && options->port + i <= UINT16_MAX; i++) {
        uint16_t port = options->port ? (uint16_t)(options->port + i) : 0;
        found = options->listen ? listen_on(view, addresses, port) : listen_here(view, port);
        problem = errno;
        if (!found && problem != EADDRINUSE) break;
    }
    if (addresses) freeaddrinfo(addresses);
    return found ? write_url(view, err) : refuse(options, problem, err);
}
