/* impl.h - texts with their words replaced */
#ifndef HD_PASS_ANONYMIZE_IMPL_H
#define HD_PASS_ANONYMIZE_IMPL_H

#include "base/json/write.h"
#include "pass/anonymize/anonymize.h"

enum { ANON_HOSTS = 16 };

typedef struct anon_words {
    uint64_t key[2];
    bool all;                   /* replace all words that are not public; false: addresses and the words of hosts */
    bool addresses;             /* replace addresses and the words of hosts */
    uint64_t hosts[ANON_HOSTS]; /* hashes of words of host names */
    size_t host_count;
} anon_words;

/* The key of a salt; false: the system has no random numbers, and salt is NULL. */
bool anon_key(uint64_t out[2], const char *salt);

/* Append the text, or the JSON text with the words of its strings replaced. Return whether a word was replaced. */
bool anon_put_text(hd_json_out *out, const anon_words *words, hd_string text);
bool anon_put_json(hd_json_out *out, const anon_words *words, hd_string text, bool frames);
/* A frame: the files of frameworks stay ("torch/nn/modules/module.py(1): forward"), unless `names`. */
bool anon_put_frame(hd_json_out *out, const anon_words *words, hd_string text, bool names);
/* Remember the words of a host's name; those of the hosts that a JSON text names by their keys. */
void anon_add_host(anon_words *words, hd_string text);
bool anon_is_host_key(hd_string key);
void anon_add_hosts_in(anon_words *words, hd_string json);

/* words.c: a word that says nothing about a user: a number, a term of profilers, frameworks or Python. */
bool anon_is_public(const char *word, size_t size);
/* Whether each word of a text is public. */
bool anon_all_public(hd_string text);
/* "aten::mm", "AddmmBackward0": an operator of a framework, by its name. */
bool anon_is_framework(hd_string name);
bool anon_is_path(hd_string text);

#endif
