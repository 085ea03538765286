/* hex.h - hexadecimal digits */
#ifndef HD_BASE_TEXT_HEX_H
#define HD_BASE_TEXT_HEX_H

/* 0 to 15, of either case; -1: none. */
static inline int hd_hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
