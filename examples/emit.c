/* emit.c - a program that traces itself: slices, a counter and an instant, from its own threads, into emit.hdcap
 *
 *     emit && heddle convert emit.hdcap emit.pftrace
 */
#include <pthread.h>
#include <stdio.h>

#define HD_MARKS 1 /* without it the macros are nothing, and need no library */
#include <heddle/mark.h>

static _Thread_local volatile double sink;

static void work(int rounds)
{
    HD_MARK_SCOPE("work");
    for (int i = 0; i < rounds * 100000; i++) sink += i;
    HD_MARK_COUNTER("rounds", rounds);
}

static void *run(void *unused)
{
    for (int i = 1; i <= 10; i++) work(i);
    HD_MARK_INSTANT("thread is done");
    return unused;
}

int main(void)
{
    hd_error err = {0};
    hd_session *session = NULL;
    char text[HD_ERROR_TEXT_BYTES];
    pthread_t thread;
    if (hd_session_start(&session, "emit.hdcap", NULL, &err) != HD_OK) /* then nothing is recorded, and all goes on */
        fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
    hd_mark_use(session);
    if (pthread_create(&thread, NULL, run, NULL) != 0) return 1;
    run(NULL);
    pthread_join(thread, NULL);
    hd_mark_use(NULL);
    hd_status status = hd_session_stop(NULL, session, &err);
    hd_session_free(session);
    return status != HD_OK;
}
