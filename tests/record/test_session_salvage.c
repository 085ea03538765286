/* test_session_salvage.c - what a process had in memory when it ended, and memory that makes no sense */
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "capture/session/tracers.h"
#include "capture/session_support.h"
#include "rounds.h"

enum { EVENTS = 900, NAMES = 30, RING = 1024, MEMORY_BYTES = 5 << 20 };

static int recorder;
static char file[128], socket_name[128];

static int bind_recorder(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (make_folder(state) != 0) return -1;
    file_named(file, "run.hdcap");
    file_named(socket_name, HD_SESSION_RECORDER);
    strcpy(address.sun_path, socket_name);
    recorder = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return bind(recorder, (struct sockaddr *)&address, sizeof address);
}

static int unbind_recorder(void **state)
{
    close(recorder);
    unlink(socket_name);
    unlink(file);
    return remove_folder(state);
}

/* The memory of a session that has started, opened anew. */
static int receive(void)
{
    char byte, control[CMSG_SPACE(sizeof(int))], path[64];
    int fd;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    assert_int_equal(recvmsg(recorder, &message, 0), 1);
    assert_non_null(CMSG_FIRSTHDR(&message));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    sprintf(path, "/proc/self/fd/%d", fd);
    int own = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    return own;
}

static void emit_all(hd_session *session)
{
    char name[32];
    for (int i = 0; i < EVENTS; i++) {
        sprintf(name, "name %d", i % NAMES);
        hd_session_slice(session, hd_session_intern(session, name), 0, i * 1000000ll, i);
    }
    hd_session_metadata(session, "last", "true");
}

/* A child that emits, says so, and ends in some way once it may. */
static pid_t start_child(void (*end)(hd_session *session), int *said, int *may_end)
{
    int out[2], in[2];
    char byte = 0;
    assert_int_equal(pipe(out) | pipe(in), 0);
    pid_t pid = fork();
    if (pid == 0) {
        hd_session *session;
        hd_session_options options = {.ring_events = RING, .flush_ms = 1000};
        if (hd_session_start(&session, file, &options, NULL) != HD_OK) _exit(2);
        emit_all(session);
        bool fine = write(out[1], &byte, 1) == 1 && read(in[0], &byte, 1) == 1;
        end(session);
        _exit(!fine);
    }
    close(out[1]);
    close(in[0]);
    *said = out[0];
    *may_end = in[1];
    return pid;
}

static void run_child(void (*end)(hd_session *session), hd_session_salvaged *alive, int *memory)
{
    int said, may_end;
    uint64_t events;
    char byte = 0;
    pid_t pid = start_child(end, &said, &may_end);
    assert_int_equal(read(said, &byte, 1), 1);
    *memory = receive();
    assert_int_equal(hd_session_salvage(alive, &events, *memory, test_folder, false, NULL), HD_OK);
    assert_int_equal(write(may_end, &byte, 1), 1);
    close(said);
    close(may_end);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void kill_itself(hd_session *session)
{
    (void)session;
    raise(SIGKILL);
}

static void execute(hd_session *session)
{
    (void)session;
    execl("/bin/true", "true", (char *)NULL);
}

static void leave(hd_session *session)
{
    (void)session;
}

static void stop(hd_session *session)
{
    hd_session_stop(NULL, session, NULL);
}

static void assert_whole(void)
{
    hd_trace *trace = read_capture(file);
    assert_int_equal(hd_trace_event_count(trace), EVENTS);
    for (int i = 0; i < EVENTS; i += 7) {
        char name[32];
        sprintf(name, "name %d", i % NAMES);
        hd_event event = row_at(trace, HD_KIND_SLICE, i);
        assert_true(text_is(trace, event.name, name));
        assert_int_equal(event.start_ns, i * 1000000ll);
    }
    assert_int_equal(hd_trace_metadata_find(trace, "last").size, 4);
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++)
        assert_int_equal(hd_trace_ledger_at(trace, i)->level, HD_LEDGER_NOTE);
    hd_trace_free(trace);
}

static void test_salvage__nothing_is_missing_however_the_process_ended(void **state)
{
    void (*const ends[])(hd_session *) = {kill_itself, execute, leave, stop};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        hd_session_salvaged found;
        uint64_t events;
        int memory;
        run_child(ends[i], &found, &memory);
        assert_int_equal(found, HD_SESSION_ALIVE);
        assert_int_equal(hd_session_salvage(&found, &events, memory, test_folder, false, NULL), HD_OK);
        assert_int_equal(found, ends[i] == stop ? HD_SESSION_COMPLETE : HD_SESSION_SALVAGED);
        assert_whole();
        close(memory);
    }
}

enum { LAUNCHED = 10, BEFORE = 5 };

/* A traced child that delivers one launch between two stops. */
static pid_t start_delivery(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        hd_session *session;
        hd_session_record record = {.kind = HD_SESSION_SLICE, .time_ns = 1, .value = 1};
        if (hd_session_start(&session, file, &(hd_session_options){.ring_events = RING, .flush_ms = 1000}, NULL) != 0)
            _exit(2);
        atomic_store(session_due(session, SESSION_LAUNCHED), LAUNCHED);
        for (int i = 0; i < BEFORE; i++) session_deliver(session, &record, true);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(3);
        raise(SIGSTOP);
        session_deliver(session, &record, true);
        raise(SIGSTOP);
        _exit(0);
    }
    return pid;
}

/* Kills it after so many instructions; returns how many there were until the second stop. */
static unsigned step_and_kill(pid_t pid, unsigned steps)
{
    int status;
    unsigned done = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status)) return 0; /* tracing is not permitted here */
    for (; done < steps; done++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WSTOPSIG(status) != SIGTRAP) break;
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return done;
}

/* Events in the trace of the dead child: with launches that were not delivered, they are all launches. */
static uint64_t count_delivered(void)
{
    hd_session_salvaged found;
    uint64_t events;
    int memory = receive();
    assert_int_equal(hd_session_salvage(&found, &events, memory, test_folder, true, NULL), HD_OK);
    close(memory);
    hd_trace *trace = read_capture(file);
    uint64_t shown = hd_trace_event_count(trace);
    assert_int_equal(shown + ledger_count(trace, "session.not-delivered"), LAUNCHED);
    hd_trace_free(trace);
    return shown;
}

static void test_salvage__a_launch_is_shown_or_lost_whichever_instruction_was_the_last(void **state)
{
    enum { ROUNDS = 300 };
    unsigned seen[2] = {0};
    (void)state;
    unsigned all = step_and_kill(start_delivery(), UINT32_MAX);
    count_delivered();
    if (!all) skip();
    for (unsigned steps = 0; steps <= all; steps += 1 + all / ROUNDS) {
        step_and_kill(start_delivery(), steps);
        uint64_t shown = count_delivered();
        assert_in_range(shown, BEFORE, BEFORE + 1);
        seen[shown - BEFORE]++;
    }
    assert_true(seen[0] && seen[1]);
}

static size_t read_all(const char *path, uint8_t *out, size_t room)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, out, room);
    close(fd);
    return n < 0 ? 0 : (size_t)n;
}

static void write_all(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

/* The file is cut anywhere, and was written in part before: what the memory still has is not written twice. */
static void test_salvage__memory_and_files_that_are_damaged_are_no_danger(void **state)
{
    static uint8_t capture[1 << 16], page[4096];
    hd_session_salvaged found;
    uint64_t events;
    int memory;
    unsigned seed = hd_test_seed(1), rounds = hd_test_rounds(60);
    char copy[128];
    (void)state;
    srand(seed);
    run_child(kill_itself, &found, &memory);
    size_t size = read_all(file, capture, sizeof capture);
    struct stat info;
    assert_int_equal(fstat(memory, &info), 0);
    assert_true(info.st_size <= MEMORY_BYTES);
    int damaged = open(file_named(copy, "memory"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink(copy);
    for (unsigned round = 0; round < rounds; round++) {
        assert_int_equal(ftruncate(damaged, 0), 0);
        assert_int_equal(ftruncate(damaged, info.st_size - (rand() % 4 ? 0 : rand() % info.st_size)), 0);
        for (off_t at = 0; at < info.st_size; at += sizeof page) {
            bool is_empty = true;
            if (pread(memory, page, sizeof page, at) != sizeof page) break;
            for (size_t i = 0; i < sizeof page && is_empty; i += 8) is_empty = !page[i];
            bool is_head = at < 8192 || at >= info.st_size - RING * 64 - 4096;
            for (int i = rand() % 4; !is_empty && is_head && round && i > 0; i--)
                page[(unsigned)rand() % (rand() % 2 ? 512 : sizeof page)] ^= (uint8_t)(1 << rand() % 8);
            if (!is_empty) assert_int_equal(pwrite(damaged, page, sizeof page, at), sizeof page);
        }
        write_all(file, capture, round % 3 && size > 64 ? 64 + (size_t)rand() % (size - 64) : size);
        hd_session_salvage(&found, &events, damaged, test_folder, true, NULL);
        if (!round) assert_whole();
        hd_trace *trace = NULL;
        if (hd_trace_read(&trace, file, NULL, NULL) == HD_OK) hd_trace_free(trace);
    }
    close(damaged);
    close(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_salvage__nothing_is_missing_however_the_process_ended),
        cmocka_unit_test(test_salvage__a_launch_is_shown_or_lost_whichever_instruction_was_the_last),
        cmocka_unit_test(test_salvage__memory_and_files_that_are_damaged_are_no_danger),
    };
    return cmocka_run_group_tests(tests, bind_recorder, unbind_recorder);
}
