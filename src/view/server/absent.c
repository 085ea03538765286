/* absent.c - heddle view's server in a build without libmicrohttpd: says so */
#include "base/error.h"
#include "heddle/view.h"
#include "view/server/page.h"

bool hd_view_has_page(void)
{
    return view_page_files[0].path != NULL;
}

bool hd_view_has_server(void)
{
    return false;
}

hd_status hd_view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                        hd_error *err)
{
    (void)paths;
    (void)count;
    (void)options;
    *out = NULL;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "this heddle was built without libmicrohttpd: install it (Debian: libmicrohttpd-dev) and build "
                        "again");
}

/* Without a view there is nothing to ask. */
const char *hd_view_url(const hd_view *view)
{
    (void)view;
    return "";
}

uint16_t hd_view_port(const hd_view *view)
{
    (void)view;
    return 0;
}

const char *hd_view_token(const hd_view *view)
{
    (void)view;
    return NULL;
}

size_t hd_view_reading(const hd_view *view)
{
    (void)view;
    return 0;
}

size_t hd_view_failures(const hd_view *view)
{
    (void)view;
    return 0;
}

void hd_view_progress(uint64_t *out_done, uint64_t *out_total, const hd_view *view)
{
    (void)view;
    *out_done = *out_total = 0;
}

bool hd_view_stop(hd_view *view, unsigned milliseconds)
{
    (void)view;
    (void)milliseconds;
    return true;
}

void hd_view_free(hd_view *view)
{
    (void)view;
}
