/* http.h - parses a request's head, by plain functions of text: address, Host, token, origin, encodings
 *
 * All input may be hostile. Nothing here depends on libmicrohttpd.
 */
#ifndef HD_VIEW_SERVER_HTTP_H
#define HD_VIEW_SERVER_HTTP_H

#include "view/route/route.h"

enum { VIEW_PARAMS_MAX = 64, VIEW_TOKEN_TEXT = 32 };

/* A parsed request address. Texts are in `memory`. */
typedef struct view_target {
    char *path; /* decoded */
    view_param params[VIEW_PARAMS_MAX];
    size_t param_count;
    char *memory;
} view_target;

/* "/api/tiles?trace=0&tracks=1,2" -> its parts; '+' in a query is a space. Errors: ARGUMENT: does not begin with '/', a
 * '%' without two digits, a NUL, text that is not UTF-8, a parameter given twice, too many; MEMORY. */
hd_status view_target_parse(view_target *out, const char *text, size_t size, hd_error *err);
void view_target_deinit(view_target *target);
const char *view_target_param(const view_target *target, const char *name); /* NULL: absent */

/* Who the server is to its clients. */
typedef struct view_names {
    const char *listen;   /* the value of --listen; NULL: this machine only */
    const char *hostname; /* of the machine, for `listen`; NULL: unknown */
    bool any_address;     /* it listens on all addresses of the machine */
} view_names;

/* Whether a Host header ("localhost:8383"; NULL: absent) names this server, which rejects web sites whose name was made
 * to point here. The port is ignored, since `ssh -L` changes it. */
bool view_host_is_ours(const char *host, const view_names *names);

/* Whether a request from this origin is allowed: `origin` is that header, `fetch_site`, `fetch_mode` and `fetch_dest`
 * are Sec-Fetch-…; NULL: absent. Links and bookmarks from anywhere may open the web UI itself (`is_page`); with
 * `framed` so may frames. */
bool view_origin_is_ours(const char *origin, const char *host, const char *fetch_site, const char *fetch_mode,
                         const char *fetch_dest, bool is_page, bool framed);

/* Whether the token is in the Authorization header, in the cookie `cookie_name`, or is `param`; constant time. */
bool view_token_is_right(const char *token, const char *authorization, const char *cookie, const char *cookie_name,
                         const char *param);

/* Whether a list such as "gzip, br;q=0.5" has an encoding, and not with q=0. */
bool view_accepts(const char *list, const char *encoding);
/* Whether an If-None-Match header names an entity tag (with its quotes). */
bool view_etag_matches(const char *list, const char *etag);

#endif
