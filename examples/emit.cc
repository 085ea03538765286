// emit.cc - the same from C++: a scope is a slice, and a name may be made while the program runs
//
//     emit_cc && heddle info emit_cc.hdcap
#include <string>
#include <thread>
#include <vector>

#define HD_MARKS 1
#include <heddle/mark.h>

namespace {

// A slice whose name is not known when the program is compiled.
class Slice {
public:
    Slice(hd_session *session, const std::string &name) : session_(session)
    {
        hd_session_begin(session_, hd_session_intern(session_, name.c_str()), 0);
    }
    ~Slice() { hd_session_end(session_); }
    Slice(const Slice &) = delete;
    Slice &operator=(const Slice &) = delete;

private:
    hd_session *session_;
};

void layer(hd_session *session, int index)
{
    Slice slice(session, "layer " + std::to_string(index));
    HD_MARK_SCOPE("matmul");
    std::this_thread::yield();
}

} // namespace

int main()
{
    hd_session *session = nullptr;
    if (hd_session_start(&session, "emit_cc.hdcap", nullptr, nullptr) != HD_OK) return 1;
    hd_mark_use(session);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([session] {
            for (int i = 0; i < 8; i++) layer(session, i);
        });
    for (std::thread &thread : threads) thread.join();
    hd_mark_use(nullptr);
    hd_status status = hd_session_stop(nullptr, session, nullptr);
    hd_session_free(session);
    return status != HD_OK;
}
