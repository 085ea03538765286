/* emit.c - events of a program of one's own: emit OUT.hdcap, then heddle view OUT.hdcap */
#include <stdio.h>

#include <heddle/session.h>

int main(int argc, char **argv)
{
    hd_error err = {0};
    hd_session *session;
    hd_session_stats stats;
    char text[HD_ERROR_TEXT_BYTES];
    if (argc != 2) return 2;
    hd_status status = hd_session_start(&session, argv[1], NULL, &err);
    uint32_t step = hd_session_intern(session, "step"), part = hd_session_intern(session, "part");
    uint32_t sum = hd_session_intern(session, "sum");
    double total = 0;
    hd_session_name_thread(session, "worker");
    for (int i = 0; i < 10; i++) {
        hd_session_begin(session, step, 0);
        for (int j = 1; j <= 3; j++) {
            hd_session_begin(session, part, 0);
            for (int k = 1; k < 100000 * j; k++) total += 1.0 / k;
            hd_session_end(session);
        }
        hd_session_counter(session, sum, total);
        hd_session_end(session);
    }
    if (status == HD_OK) status = hd_session_stop(&stats, session, &err);
    hd_session_free(session);
    if (status != HD_OK) fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
    return status == HD_OK ? 0 : 1;
}
