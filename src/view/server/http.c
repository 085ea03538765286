/* http.c - parses a request's head: address, Host, token, origin, encodings */
#include "view/server/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/hex.h"

/* ---- address ---- */

/* Percent-decodes text[0 … size) into *at, NUL-terminates it and advances *at. Returns NULL on malformed input. */
static char *decode(char **at, const char *text, size_t size, bool is_query)
{
    char *start = *at, *to = start;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < size ? hd_hex_digit(text[i + 1]) : -1,
                low = i + 2 < size ? hd_hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0) return NULL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if (c == '\0') return NULL;
        *to++ = c;
    }
    *to = '\0';
    *at = to + 1;
    return hd_utf8_valid(start, (size_t)(to - start), false) ? start : NULL;
}

static hd_status parse_query(view_target *out, char *at, const char *text, const char *end, hd_error *err)
{
    while (text < end) {
        const char *stop = memchr(text, '&', (size_t)(end - text));
        if (!stop) stop = end;
        const char *equals = memchr(text, '=', (size_t)(stop - text)), *name_end = equals ? equals : stop;
        if (stop > text) {
            if (out->param_count == VIEW_PARAMS_MAX)
                return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "more than %d parameters",
                                    VIEW_PARAMS_MAX);
            const char *name = decode(&at, text, (size_t)(name_end - text), true);
            const char *value = equals ? decode(&at, equals + 1, (size_t)(stop - equals - 1), true) : "";
            if (!name || !value)
                return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                    "the address has a parameter that is not text: a '%%' needs two hexadecimal digits "
                                    "after it, and what they make must be UTF-8");
            if (view_target_param(out, name))
                return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter %.40s is given twice", name);
            out->params[out->param_count++] = (view_param){name, value};
        }
        text = stop + 1;
    }
    return HD_OK;
}

hd_status view_target_parse(view_target *out, const char *text, size_t size, hd_error *err)
{
    *out = (view_target){0};
    const char *mark = memchr(text, '?', size), *end = text + size, *path_end = mark ? mark : end;
    /* Decoding never makes a part longer; each is followed by a NUL: one for the path, and one per separator. */
    char *at = out->memory = malloc(size + 4 + VIEW_PARAMS_MAX);
    if (!at) return HD_NOMEM(err);
    if (size) out->path = decode(&at, text, (size_t)(path_end - text), false);
    if (!out->path || out->path[0] != '/')
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the address makes no sense");
    return mark ? parse_query(out, at, mark + 1, end, err) : HD_OK;
}

void view_target_deinit(view_target *target)
{
    free(target->memory);
    *target = (view_target){0};
}

const char *view_target_param(const view_target *target, const char *name)
{
    for (size_t i = 0; i < target->param_count; i++) {
        if (strcmp(target->params[i].name, name) == 0) return target->params[i].value;
    }
    return NULL;
}

/* ---- Host and Origin ---- */

/* The name in "name:port" or "[::1]:port"; false: neither. */
static bool name_of_host(const char **out, size_t *out_size, const char *host)
{
    const char *end;
    *out = host;
    if (*host == '[') {
        end = strchr(host, ']');
        if (!end) return false;
        *out = host + 1;
        *out_size = (size_t)(end - host - 1);
        end++;
    } else {
        end = host + strcspn(host, ":");
        *out_size = (size_t)(end - host);
    }
    if (*end == ':') {
        size_t digits = strspn(end + 1, "0123456789");
        if (digits == 0 || digits > 5) return false;
        end += 1 + digits;
    }
    return *out_size > 0 && *end == '\0';
}

static bool same_name(const char *name, size_t size, const char *other)
{
    return strlen(other) == size && strncasecmp(name, other, size) == 0;
}

/* A numeric address, which involved no name server. */
static bool is_address(const char *name, size_t size)
{
    bool v4 = true, v6 = memchr(name, ':', size) != NULL;
    for (size_t i = 0; i < size; i++) {
        v4 = v4 && (isdigit((unsigned char)name[i]) || name[i] == '.');
        v6 = v6 && (isxdigit((unsigned char)name[i]) || strchr(":.", name[i]));
    }
    return v4 || v6;
}

/* "node7", and "node7.cluster.example" where the machine calls itself either. */
static bool is_hostname(const char *name, size_t size, const char *hostname)
{
    size_t first = strcspn(hostname, ".");
    if (same_name(name, size, hostname)) return true;
    return size >= first && first > 0 && strncasecmp(name, hostname, first) == 0 &&
           (size == first || name[first] == '.');
}

bool view_host_is_ours(const char *host, const view_names *names)
{
    const char *name;
    size_t size;
    if (!host || !name_of_host(&name, &size, host)) return false;
    if (same_name(name, size, "localhost") || same_name(name, size, "127.0.0.1") || same_name(name, size, "::1"))
        return true;
    if (!names->listen) return false;
    if (same_name(name, size, names->listen)) return true;
    if (names->any_address && is_address(name, size)) return true;
    return names->hostname && is_hostname(name, size, names->hostname);
}

bool view_origin_is_ours(const char *origin, const char *host, const char *fetch_site, const char *fetch_mode,
                         const char *fetch_dest, bool is_page, bool framed)
{
    static const char scheme[] = "http://";
    if (origin) {
        if (!host || strncasecmp(origin, scheme, sizeof scheme - 1) != 0) return false;
        if (strcasecmp(origin + sizeof scheme - 1, host) != 0) return false;
    }
    if (!fetch_site || strcmp(fetch_site, "same-origin") == 0 || strcmp(fetch_site, "none") == 0) return true;
    return is_page && fetch_mode && strcmp(fetch_mode, "navigate") == 0 && fetch_dest &&
           (strcmp(fetch_dest, "document") == 0 || (framed && strcmp(fetch_dest, "iframe") == 0));
}

/* ---- token ---- */

/* Compares all digits, in constant time. */
static bool same_token(const char *token, const char *given, size_t size)
{
    unsigned differ = size != VIEW_TOKEN_TEXT;
    for (size_t i = 0; i < VIEW_TOKEN_TEXT; i++)
        differ |= (unsigned char)token[i] ^ (unsigned char)(i < size ? given[i] : 0);
    return differ == 0;
}

static bool cookie_has_token(const char *token, const char *cookie, const char *name)
{
    size_t name_size = strlen(name);
    bool right = false;
    while (*cookie) {
        cookie += strspn(cookie, " ;");
        size_t size = strcspn(cookie, ";"), used = size;
        while (used && cookie[used - 1] == ' ') used--;
        if (used > name_size && strncmp(cookie, name, name_size) == 0 && cookie[name_size] == '=')
            right |= same_token(token, cookie + name_size + 1, used - name_size - 1);
        cookie += size;
    }
    return right;
}

bool view_token_is_right(const char *token, const char *authorization, const char *cookie, const char *cookie_name,
                         const char *param)
{
    static const char bearer[] = "Bearer ";
    size_t skip = sizeof bearer - 1;
    bool right = false;
    if (authorization && strncasecmp(authorization, bearer, skip) == 0)
        right |= same_token(token, authorization + skip, strlen(authorization + skip));
    if (cookie) right |= cookie_has_token(token, cookie, cookie_name);
    if (param) right |= same_token(token, param, strlen(param));
    return right;
}

/* ---- lists ---- */

/* ";q=0", ";q=0.000": not wanted. */
static bool is_refused(const char *parameters, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (tolower((unsigned char)parameters[i]) != 'q' || parameters[i + 1] != '=' || parameters[i + 2] != '0')
            continue;
        for (i += 3; i < size && strchr(".0 \t", parameters[i]); i++) continue;
        return i == size;
    }
    return false;
}

bool view_accepts(const char *list, const char *encoding)
{
    while (list && *list) {
        list += strspn(list, " \t,");
        size_t size = strcspn(list, ","), name = 0;
        while (name < size && list[name] != ';' && list[name] != ' ' && list[name] != '\t') name++;
        if (same_name(list, name, encoding)) return !is_refused(list + name, size - name);
        list += size;
    }
    return false;
}

bool view_etag_matches(const char *list, const char *etag)
{
    while (list && *list) {
        list += strspn(list, " \t,");
        if (strncmp(list, "W/", 2) == 0) list += 2;
        size_t size = strcspn(list, ",");
        const char *next = list + size;
        while (size && (list[size - 1] == ' ' || list[size - 1] == '\t')) size--;
        if ((size == strlen(etag) && memcmp(list, etag, size) == 0) || (size == 1 && *list == '*')) return true;
        list = next;
    }
    return false;
}
