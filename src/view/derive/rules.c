/* rules.c - what ranges are by their names */
#include <string.h>

#include "view/derive/derive.h"

bool view_is_module(hd_string name)
{
    static const char prefix[] = "nn.Module: ";
    return name.size > sizeof prefix - 1 && memcmp(name.data, prefix, sizeof prefix - 1) == 0;
}
