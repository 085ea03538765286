/* microhttpd.h - libmicrohttpd, which is loaded when a server starts
 *
 * With it come GnuTLS and eleven libraries more. To load them took half of the time of a command that needs none of
 * them. A build whose libraries are all static (HD_MICROHTTPD is not defined then) is linked with it.
 */
#ifndef HD_VIEW_SERVER_MICROHTTPD_H
#define HD_VIEW_SERVER_MICROHTTPD_H

#include <microhttpd.h>

#include "heddle/status.h"

#ifdef HD_MICROHTTPD /* the file's name: "libmicrohttpd.so.12" */

#define VIEW_MICROHTTPD(FUNCTION)                                                                                      \
    FUNCTION(MHD_add_response_header)                                                                                  \
    FUNCTION(MHD_create_response_from_buffer)                                                                          \
    FUNCTION(MHD_create_response_from_fd64)                                                                            \
    FUNCTION(MHD_destroy_response)                                                                                     \
    FUNCTION(MHD_get_connection_info)                                                                                  \
    FUNCTION(MHD_lookup_connection_value)                                                                              \
    FUNCTION(MHD_queue_response)                                                                                       \
    FUNCTION(MHD_quiesce_daemon)                                                                                       \
    FUNCTION(MHD_resume_connection)                                                                                    \
    FUNCTION(MHD_start_daemon)                                                                                         \
    FUNCTION(MHD_stop_daemon)                                                                                          \
    FUNCTION(MHD_suspend_connection)

typedef struct view_microhttpd_functions {
#define VIEW_MICROHTTPD_MEMBER(name) __typeof__(name) *name;
    VIEW_MICROHTTPD(VIEW_MICROHTTPD_MEMBER)
#undef VIEW_MICROHTTPD_MEMBER
} view_microhttpd_functions;

extern view_microhttpd_functions view_microhttpd;

/* Loads the library, which then stays. UNSUPPORTED: it is not installed, or too old. */
hd_status view_microhttpd_load(hd_error *err);

#define MHD_add_response_header view_microhttpd.MHD_add_response_header
#define MHD_create_response_from_buffer view_microhttpd.MHD_create_response_from_buffer
#define MHD_create_response_from_fd64 view_microhttpd.MHD_create_response_from_fd64
#define MHD_destroy_response view_microhttpd.MHD_destroy_response
#define MHD_get_connection_info view_microhttpd.MHD_get_connection_info
#define MHD_lookup_connection_value view_microhttpd.MHD_lookup_connection_value
#define MHD_queue_response view_microhttpd.MHD_queue_response
#define MHD_quiesce_daemon view_microhttpd.MHD_quiesce_daemon
#define MHD_resume_connection view_microhttpd.MHD_resume_connection
#define MHD_start_daemon view_microhttpd.MHD_start_daemon
#define MHD_stop_daemon view_microhttpd.MHD_stop_daemon
#define MHD_suspend_connection view_microhttpd.MHD_suspend_connection

#else

static inline hd_status view_microhttpd_load(hd_error *err)
{
    (void)err;
    return HD_OK;
}

#endif
#endif
