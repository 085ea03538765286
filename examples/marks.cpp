/* marks.cpp - the same with marks, in C++; without HD_MARKS they are nothing: marks OUT.hdcap */
#define HD_MARKS 1
#include <cstdio>
#include <thread>
#include <vector>

#include <heddle/mark.h>

static double work(int rounds)
{
    HD_MARK_SCOPE("work");
    double total = 0;
    for (int i = 1; i < rounds; i++) total += 1.0 / i;
    HD_MARK_COUNTER("total", total);
    return total;
}

int main(int argc, char **argv)
{
    hd_error err = {};
    hd_session *session;
    char text[HD_ERROR_TEXT_BYTES];
    if (argc != 2) return 2;
    hd_status status = hd_session_start(&session, argv[1], nullptr, &err);
    hd_mark_use(session);
    std::vector<std::thread> threads;
    for (int i = 1; i <= 4; i++) threads.emplace_back([i] { work(i * 100000); });
    for (std::thread &thread : threads) thread.join();
    hd_mark_use(nullptr);
    if (status == HD_OK) status = hd_session_stop(nullptr, session, &err);
    hd_session_free(session);
    if (status != HD_OK) std::fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
    return status == HD_OK ? 0 : 1;
}
