/* Files of symbols: which are looked at, which are right, what is said of those that are not. */
#include "patience.h"
#include "symbolize/elf_maker.h"
#include "symbolize/symbolize_text.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_TEXT "00112233445566778899aabbccddeeff00112233"
static const uint8_t id[20] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                               0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33};
static const uint8_t other_id[20] = {0xff, 0x11};
static const elf_symbol symbols[] = {{.name = "first", .start = 0x1000, .size = 0x20},
                                     {.name = "_ZN2ns5outerEi", .start = 0x1020, .size = 0x20},
                                     {.name = "static_one", .start = 0x1060, .size = 0x10, .local = true},
                                     {0}};
static const elf_symbol exported[] = {{.name = "first", .start = 0x1000, .size = 0x20}, {0}};
static const elf_file full = {.build_id = id, .build_id_bytes = sizeof id, .symbols = symbols};
static const elf_file stripped = {.build_id = id, .build_id_bytes = sizeof id, .dynamic = exported};

static char folder[64];

static int make_folder(NO_STATE)
{
    snprintf(folder, sizeof folder, "/tmp/heddle-symbols-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(NO_STATE)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 && strncmp(folder, "/tmp/heddle-symbols-", 20) == 0 ? system(command) : -1;
}

static hd_symbolize_module seen; /* the only module of the last call; its texts are gone but these */
static char seen_why[256], seen_symbols[256];

/* The names of addresses 0x1004, 0x1024, 0x1050 and 0x1064 in a module at `path`, and the module in `seen`. */
static const char *names(const char *path, const char *build_id, const hd_symbolize_options *options)
{
    char json[2048];
    hd_symbolize_report *report;
    snprintf(json, sizeof json,
             "{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(2, "2") "," SAMPLE(3, "3") "," SAMPLE(
                 4, "4") "],\"modules\":[{\"name\":\"lib.so\",\"path\":\"%s\",\"buildId\":\"%s\"}],\"stackFrames\":"
                         "{" FRAME(1, "lib.so+0x1004") "," FRAME(2, "lib.so+0x1024") "," FRAME(
                             3, "lib.so+0x1050") "," FRAME(4, "lib."
                                                              "so+"
                                                              "0x106"
                                                              "4") "}}",
             path, build_id);
    hd_trace *out = named(trace_of(json), &report, options);
    const char *text = stacks_text(out, HD_KIND_SAMPLE);
    assert_int_equal(report->module_count, 1);
    seen = report->modules[0];
    snprintf(seen_why, sizeof seen_why, "%s", seen.why);
    snprintf(seen_symbols, sizeof seen_symbols, "%s", seen.symbols);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    return text;
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

#define ALL "first | ns::outer(int) | lib.so+0x1050 | static_one"
#define EXPORTED "first | lib.so+0x1024 | lib.so+0x1050 | lib.so+0x1064"
#define NONE "lib.so+0x1004 | lib.so+0x1024 | lib.so+0x1050 | lib.so+0x1064"

/* ---- which file ---- */

static void test_symbolize_files__a_file_of_the_build_gives_its_names(NO_STATE)
{
    elf_write("lib.so", &full);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), ALL);
    assert_int_equal(seen.result, HD_SYMBOLIZE_NAMED);
    assert_int_equal(seen.named, 3);
    assert_false(seen.unchecked);
    assert_string_equal(seen_symbols, in_folder("lib.so"));
}

static void test_symbolize_files__a_file_of_another_build_gives_none(NO_STATE)
{
    elf_file other = full;
    other.build_id = other_id;
    elf_write("lib.so", &other);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_OTHER);
    assert_non_null(strstr(seen_why, "another build"));
    other.build_id = NULL;
    elf_write("lib.so", &other);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_OTHER);
    other.build_id = id;
    other.build_id_bytes = 19; /* as far as it goes it is the same */
    elf_write("lib.so", &other);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
}

static void test_symbolize_files__without_a_build_id_the_path_is_taken_and_said(NO_STATE)
{
    elf_write("lib.so", &full);
    assert_string_equal(names(in_folder("lib.so"), "", NULL), ALL);
    assert_true(seen.unchecked);
    assert_string_equal(names("lib.so", "", NULL), NONE); /* from which folder? */
    assert_string_equal(names("lib.so", ID_TEXT, NULL), ALL);
    assert_false(seen.unchecked);
}

static void test_symbolize_files__a_deleted_file_must_be_the_same_again(NO_STATE)
{
    char path[160];
    elf_write("lib.so", &full);
    snprintf(path, sizeof path, "%s (deleted)", in_folder("lib.so"));
    assert_string_equal(names(path, ID_TEXT, NULL), ALL);
    assert_string_equal(names(path, "", NULL), NONE);
    assert_non_null(strstr(seen_why, "deleted"));
}

static void test_symbolize_files__folders_of_symbols_are_looked_at_by_build_id(NO_STATE)
{
    const char *folders[] = {in_folder("debug")};
    const hd_symbolize_options options = {.debug_dirs = folders, .debug_dir_count = 1};
    elf_write("lib.so", &stripped);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), EXPORTED);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s/debug", folder);
    folders[0] = wanted;
    assert_int_equal(mkdir("debug", 0700), 0);
    assert_int_equal(mkdir("debug/.build-id", 0700), 0);
    assert_int_equal(mkdir("debug/.build-id/00", 0700), 0);
    elf_write("debug/.build-id/00/112233445566778899aabbccddeeff00112233.debug", &full);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, &options), ALL);
    assert_string_equal(names("/none/lib.so", ID_TEXT, &options), ALL);
    elf_file other = full;
    other.build_id = other_id;
    elf_write("debug/.build-id/00/112233445566778899aabbccddeeff00112233.debug", &other);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, &options), EXPORTED);
    elf_write("debug/lib.so.debug", &full);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, &options), ALL);
}

static void test_symbolize_files__debuglinks_are_followed_by_build_id_or_checksum(NO_STATE)
{
    size_t size;
    elf_file linking = stripped, linked = full;
    linking.link = "lib.so.sym";
    elf_write("lib.so", &linking);
    elf_write("lib.so.sym", &full);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), ALL);
    linking.build_id = linked.build_id = NULL;
    uint8_t *data = elf_make(&size, &linked);
    uint32_t crc = UINT32_MAX; /* the checksum of gzip, bit by bit */
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    free(data);
    elf_write("lib.so.sym", &linked);
    linking.link_crc = ~crc;
    elf_write("lib.so", &linking);
    assert_string_equal(names(in_folder("lib.so"), "", NULL), ALL);
    linking.link_crc = crc;
    elf_write("lib.so", &linking);
    assert_string_equal(names(in_folder("lib.so"), "", NULL), EXPORTED);
}

static void test_symbolize_files__a_root_holds_the_paths_of_modules(NO_STATE)
{
    assert_int_equal(mkdir("root", 0700), 0);
    assert_int_equal(mkdir("root/opt", 0700), 0);
    elf_write("root/opt/lib.so", &full);
    assert_string_equal(names("/opt/lib.so", ID_TEXT, &(hd_symbolize_options){.root = in_folder("root")}), ALL);
    assert_string_equal(names("/opt/lib.so", ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_NOT_FOUND);
}

/* ---- what is not a file of symbols ---- */

static void test_symbolize_files__pipes_devices_and_folders_are_not_opened(NO_STATE)
{
    const char *odd[] = {"/dev/zero", "/dev/tty", folder, in_folder("pipe")};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        alarm((unsigned)hd_test_patience(300)); /* opening the pipe would wait for ever */
        assert_string_equal(names(odd[i], ID_TEXT, NULL), NONE);
        assert_int_equal(seen.result, HD_SYMBOLIZE_UNREADABLE);
        assert_non_null(strstr(seen_why, "no regular file"));
        alarm(0);
    }
}

static void test_symbolize_files__what_is_no_elf_is_said(NO_STATE)
{
    bytes_write("lib.so", "#!/bin/sh\n", 10);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_UNREADABLE);
    bytes_write("lib.so", "", 0);
    assert_string_equal(names(in_folder("lib.so"), "", NULL), NONE);
    bytes_write("lib.so", "!<arch>\n", 8);
    assert_string_equal(names(in_folder("lib.so"), "", NULL), NONE);
    elf_file bare = full;
    bare.symbols = NULL;
    elf_write("lib.so", &bare);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_NO_SYMBOLS);
    assert_non_null(strstr(seen_why, "stripped"));
    unlink("lib.so");
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_NOT_FOUND);
}

static void test_symbolize_files__a_file_without_permission_is_said(NO_STATE)
{
    elf_write("lib.so", &full);
    chmod("lib.so", 0);
    if (access("lib.so", R_OK) == 0) {
        print_message("this user may read everything\n");
        skip();
    }
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), NONE);
    assert_int_equal(seen.result, HD_SYMBOLIZE_UNREADABLE);
    assert_non_null(strstr(seen_why, "ermission"));
}

/* ---- which symbol ---- */

static const char *named_by(const elf_symbol *list)
{
    elf_file file = full;
    file.symbols = list;
    elf_write("lib.so", &file);
    return names(in_folder("lib.so"), ID_TEXT, NULL);
}

static void test_symbolize_files__of_several_symbols_the_one_that_programs_call_is_shown(NO_STATE)
{
    const elf_symbol aliases[] = {{.name = "__read", .start = 0x1000, .size = 16},
                                  {.name = "read", .start = 0x1000, .size = 16, .weak = true},
                                  {.name = "aaa", .start = 0x1000, .size = 16, .local = true},
                                  {.name = "mark", .start = 0x1000},
                                  {.name = "table", .start = 0x1000, .size = 16, .data = true},
                                  {0}};
    assert_string_equal(named_by(aliases), "read | mark | mark | mark"); /* of no size: as far as there is no other */
    const elf_symbol nested[] = {{.name = "whole", .start = 0x1000, .size = 0x70},
                                 {.name = "part", .start = 0x1020, .size = 0x10},
                                 {.name = "label", .start = 0x1060},
                                 {0}};
    assert_string_equal(named_by(nested), "whole | part | whole | whole");
    const elf_symbol versions[] = {{.name = "start@@LIB_2.34", .start = 0x1000, .size = 16},
                                   {.name = "old@LIB_2.2", .start = 0x1020, .size = 16},
                                   {.name = "@", .start = 0x1060, .size = 16},
                                   {0}};
    assert_string_equal(named_by(versions), "start | old | lib.so+0x1050 | @");
    const elf_symbol huge[] = {{.name = "huge", .start = 0x1000, .size = UINT64_MAX}, {0}};
    assert_string_equal(named_by(huge), "huge | huge | huge | huge");
    const elf_symbol outside[] = {
        {.name = "low", .start = 0x10, .size = 0x10000}, {.name = "high", .start = UINT64_MAX, .size = 8}, {0}};
    assert_string_equal(named_by(outside), NONE);
}

static void test_symbolize_files__names_of_any_bytes_are_text(NO_STATE)
{
    static char longest[70000];
    memset(longest, 'x', sizeof longest - 1);
    const elf_symbol odd[] = {{.name = "a\x01\xff\tb", .start = 0x1000, .size = 16},
                              {.name = longest, .start = 0x1020, .size = 16},
                              {.name = "_ZN17broken", .start = 0x1060, .size = 16},
                              {0}};
    const char *text = named_by(odd);
    assert_int_equal(strncmp(text, "a???b | xxxx", 12), 0);
    assert_non_null(strstr(text, " | _ZN17broken"));
    assert_true(strlen(text) < 4300);
}

static void test_symbolize_files__rusts_older_names_are_readable(NO_STATE)
{
    const elf_symbol rust[] = {
        {.name = "_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
         .start = 0x1000,
         .size = 16},
        {.name = "_ZN3std2rt10lang_start17h0123456789abcdefE", .start = 0x1020, .size = 16},
        {.name = "_ZN3std2rt10lang_start17h0123456789abcdeXE", .start = 0x1060, .size = 16},
        {0}};
    assert_string_equal(named_by(rust), "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt | std::rt::lang_start | "
                                        "lib.so+0x1050 | std::rt::lang_start::h0123456789abcdeX");
}

#ifdef HD_HAS_LZMA
static void test_symbolize_files__the_table_within_a_stripped_file_is_read(NO_STATE)
{
    elf_write("mini", &full);
    /* A small dictionary: a decoder of each cut takes as much memory. */
    if (system("xz -k --lzma2=dict=4KiB mini 2>/dev/null") != 0) skip();
    FILE *file = fopen("mini.xz", "rb");
    static char data[65536];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    elf_file holding = stripped;
    holding.mini = data;
    holding.mini_bytes = size;
    elf_write("lib.so", &holding);
    assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), ALL);
    for (size_t cut = 0; cut < size; cut++) { /* damaged, it is as if it were not there */
        holding.mini_bytes = cut;
        elf_write("lib.so", &holding);
        assert_string_equal(names(in_folder("lib.so"), ID_TEXT, NULL), EXPORTED);
    }
}
#endif

/* ---- many ---- */

static void test_symbolize_files__threads_do_not_change_what_comes_out(NO_STATE)
{
    enum { MODULES = 40, FRAMES = 50 };
    size_t room = 1 << 20, at = 0, size[2];
    char *json = malloc(room), *text[2];
    at += (size_t)sprintf(json, "{\"traceEvents\":[");
    for (int i = 1; i <= MODULES * FRAMES; i++)
        at += (size_t)sprintf(json + at, "%s" SAMPLE(% d, "%d"), i > 1 ? "," : "", i, i);
    at += (size_t)sprintf(json + at, "],\"modules\":[");
    for (int m = 0; m < MODULES; m++) {
        char name[32], function[32];
        snprintf(name, sizeof name, "lib%d.so", m);
        snprintf(function, sizeof function, "function_%d", m);
        const elf_symbol list[] = {{.name = function, .start = 0x1000, .size = 0x1000}, {0}};
        elf_file file = full;
        file.symbols = list;
        elf_write(name, &file);
        at += (size_t)sprintf(json + at, "%s{\"name\":\"%s\",\"path\":\"%s/%s\",\"buildId\":\"" ID_TEXT "\"}",
                              m ? "," : "", name, folder, name);
    }
    at += (size_t)sprintf(json + at, "],\"stackFrames\":{");
    for (int i = 1; i <= MODULES * FRAMES; i++)
        at += (size_t)sprintf(json + at, "%s\"%d\":{\"name\":\"lib%d.so+0x%x\",\"parent\":%d}", i > 1 ? "," : "", i,
                              i % MODULES, 0x1000 + i, i % 100 ? i - 1 : 0);
    sprintf(json + at, "}}");
    for (int round = 0; round < 2; round++) {
        hd_symbolize_report *report;
        hd_trace *out = named(trace_of(json), &report, &(hd_symbolize_options){.threads = round ? 8 : 1});
        assert_int_equal(report->named, MODULES * FRAMES);
        assert_int_equal(report->module_count, MODULES);
        text[round] = write_text(out, NULL, &size[round]);
        hd_symbolize_report_free(report);
        hd_trace_free(out);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
    free(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

/* ---- servers ---- */

static int silent_server(char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server, 8), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
    snprintf(url, 64, "http://127.0.0.1:%u/", ntohs(address.sin_port));
    return server;
}

/* It takes connections, as the system does for it, and never sends anything: given up once, then not asked again. */
static void test_symbolize_files__a_silent_server_is_given_up(NO_STATE)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) skip();
    char url[64];
    int server = silent_server(url), taken = 0;
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1);
    hd_symbolize_report *report;
    hd_trace *out =
        named(trace_of("{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(
                  2, "2") "],\"modules\":[{\"name\":\"a.so\",\"path\":\"/not/here/a.so\",\"buildId\":\"" ID_TEXT
                          "\"},{\"name\":\"b.so\",\"path\":\"/not/here/b.so\",\"buildId\":\"ff112233445566778899\"}],"
                          "\"stackFrames\":{" FRAME(1, "a.so+0x1004") "," FRAME(2, "b.so+0x1024") "}}"),
              &report, &(hd_symbolize_options){.debuginfod = true, .debuginfod_timeout_s = 1, .threads = 1});
    assert_int_equal(report->module_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(report->modules[i].result, HD_SYMBOLIZE_NOT_FOUND);
        assert_string_equal(report->modules[i].why, "not here, and the servers of DEBUGINFOD_URLS do not answer");
    }
    for (int fd; poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 0) == 1; taken++) {
        fd = accept(server, NULL, NULL);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(taken, 1);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_symbolize_files__a_file_of_the_build_gives_its_names),
        TEST(test_symbolize_files__a_file_of_another_build_gives_none),
        TEST(test_symbolize_files__without_a_build_id_the_path_is_taken_and_said),
        TEST(test_symbolize_files__a_deleted_file_must_be_the_same_again),
        TEST(test_symbolize_files__folders_of_symbols_are_looked_at_by_build_id),
        TEST(test_symbolize_files__debuglinks_are_followed_by_build_id_or_checksum),
        TEST(test_symbolize_files__a_root_holds_the_paths_of_modules),
        TEST(test_symbolize_files__pipes_devices_and_folders_are_not_opened),
        TEST(test_symbolize_files__what_is_no_elf_is_said),
        TEST(test_symbolize_files__a_file_without_permission_is_said),
        TEST(test_symbolize_files__of_several_symbols_the_one_that_programs_call_is_shown),
        TEST(test_symbolize_files__names_of_any_bytes_are_text),
        TEST(test_symbolize_files__rusts_older_names_are_readable),
#ifdef HD_HAS_LZMA
        TEST(test_symbolize_files__the_table_within_a_stripped_file_is_read),
#endif
        TEST(test_symbolize_files__a_silent_server_is_given_up),
        TEST(test_symbolize_files__threads_do_not_change_what_comes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
