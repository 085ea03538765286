/* Words of texts that are replaced, and those that stay. Texts end where their memory does, for sanitizers. */
#include "pass/anonymize/impl.h"

#include "pass_text.h"

typedef enum put_how { TEXT, JSON, FRAME, ADDRESSES } put_how;

/* The text with each replaced word as #, which the caller frees. */
static char *replaced(const char *text, put_how how)
{
    size_t size = strlen(text), at = 0;
    char *exact = malloc(size + !size);
    memcpy(exact, text, size);
    hd_string s = {exact, size};
    anon_words words = {.all = how != ADDRESSES, .addresses = true};
    hd_json_out out = {0};
    assert_true(anon_key(words.key, "salt"));
    if (how == JSON)
        anon_put_json(&out, &words, s, false);
    else if (how == FRAME)
        anon_put_frame(&out, &words, s, false);
    else
        anon_put_text(&out, &words, s);
    char *made = calloc(1, out.size + 1);
    for (size_t i = 0; i < out.size; i++) {
        bool is_hash = out.data[i] == 'x' && i + 16 < out.size;
        for (size_t k = 1; k < 17 && is_hash; k++) is_hash = strchr("0123456789abcdef", out.data[i + k]) != NULL;
        made[at++] = is_hash ? '#' : out.data[i];
        i += is_hash ? 16 : 0;
    }
    free(out.data);
    free(exact);
    return made;
}

static void assert_replaced(const char *text, put_how how, const char *wanted)
{
    char *made = replaced(text, how);
    assert_string_equal(made, wanted);
    free(made);
}

static void test_anonymize__words_that_are_not_public_are_replaced(NO_STATE)
{
    assert_replaced("", TEXT, "");
    assert_replaced("my_model forward", TEXT, "# forward");
    assert_replaced("thread 12 (python3)", TEXT, "thread 12 (python3)");
    assert_replaced("ProfilerStep#7", TEXT, "ProfilerStep#7");
    assert_replaced("Memcpy HtoD (Pageable -> Device)", TEXT, "Memcpy HtoD (Pageable -> Device)");
    assert_replaced("[0, 1.5e-3, 0x7f00ab]", TEXT, "[0, 1.5e-3, 0x7f00ab]");
    assert_replaced("secret_3", TEXT, "#_3");
    assert_replaced("rack-17 all-reduce.5", TEXT, "# all-reduce.5");
    assert_replaced("AddmmBackward0 SecretBackward", TEXT, "AddmmBackward0 #");
    assert_replaced("\xc3\xa9t\xc3\xa9", TEXT, "#");
    assert_replaced("- -x --abcd-", TEXT, "- -x --#-");
}

static void test_anonymize__addresses_are_one_word(NO_STATE)
{
    assert_replaced("10.1.2.3:80", ADDRESSES, "#:80");
    assert_replaced("1.2.3 1.2.3.4.5 1.2.3.4567", ADDRESSES, "1.2.3 1.# 1.2.3.4567");
    assert_replaced("fe80::1 00:1a:2b:3c:4d:5e", ADDRESSES, "# #");
    assert_replaced("c10::Half at 12:34:56", ADDRESSES, "c10::Half at 12:34:56");
}

static void test_anonymize__json_stays_json(NO_STATE)
{
    assert_replaced("{\"name\":\"se\\\"cret\",\"n\":1e9,\"b\":[true,\"a\\nother\"]}", JSON,
                    "{\"name\":\"se\\\"#\",\"n\":1e9,\"b\":[true,\"a\\nother\"]}");
    assert_replaced("{\"caf\\u00e9\":null}", JSON, "{\"#\":null}");
    assert_replaced("\"cut \\", JSON, "\"# \\");
    assert_replaced("\"cut", JSON, "\"#");
}

static void test_anonymize__frames_of_frameworks_stay(NO_STATE)
{
    assert_replaced("/home/ann/site-packages/torch/_ops.py(3): f", FRAME, "/home/#/site-packages/torch/_ops.py(3): f");
    assert_replaced("torch/_ops.py(3): f", FRAME, "torch/_ops.py(3): f");
    assert_replaced("/home/ann/train.py(3): loss_of", FRAME, "/home/#/#.py(3): #");
}

/* Public words with a number are a host's, those without one are not: "server". */
#define HOSTS_TEXT "{\"perf\":{\"hostname\" : \"node7.server\",\"release\":\"6.1\"},\"host\":\"cut"
#define HOSTS ((hd_string){HOSTS_TEXT, sizeof HOSTS_TEXT - 1})

static void test_anonymize__hosts_are_replaced_wherever_they_are(NO_STATE)
{
    static const char name[] = {'-', 'g', 'p', 'u', 'b', 'o', 'x', '-', '7', '.', 'c', 'o', 'r', 'p', '-'};
    char *exact = malloc(sizeof name);
    hd_json_out out = {0};
    anon_words words = {.addresses = true};
    memcpy(exact, name, sizeof name);
    anon_add_host(&words, (hd_string){exact, sizeof name});
    free(exact);
    assert_int_equal(words.host_count, 2);
    assert_true(anon_put_text(&out, &words, (hd_string){"of gpubox-7", 11}));
    assert_int_equal(out.size, 3 + 17);
    out.size = 0;
    assert_false(anon_put_text(&out, &words, (hd_string){"of gpubox-8", 11}));
    anon_add_hosts_in(&words, HOSTS);
    assert_int_equal(words.host_count, 4);
    assert_true(anon_put_text(&out, &words, (hd_string){"node7", 5}));
    assert_false(anon_put_text(&out, &words, (hd_string){"node8", 5}));
    free(out.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_anonymize__words_that_are_not_public_are_replaced),
        cmocka_unit_test(test_anonymize__addresses_are_one_word),
        cmocka_unit_test(test_anonymize__json_stays_json),
        cmocka_unit_test(test_anonymize__frames_of_frameworks_stay),
        cmocka_unit_test(test_anonymize__hosts_are_replaced_wherever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
