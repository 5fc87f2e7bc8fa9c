// SPDX-License-Identifier: LGPL-2.1-only
// Memory functions for blobs: the compiler may call them for assignments and loops, even without libc.
#include <stddef.h>

extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
    void* at = to;
    asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void* memmove(void* to, const void* from, size_t size) {
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    if (target <= source || target >= source + size)
        return memcpy(to, from, size);
    while (size-- > 0)
        target[size] = source[size];
    return to;
}

void* memset(void* to, int value, size_t size) {
    void* at = to;
    asm volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
    return to;
}

int memcmp(const void* left, const void* right, size_t size) {
    const auto* a = static_cast<const unsigned char*>(left);
    const auto* b = static_cast<const unsigned char*>(right);
    for (size_t at = 0; at < size; ++at)
        if (a[at] != b[at])
            return a[at] < b[at] ? -1 : 1;
    return 0;
}

size_t strlen(const char* text) {
    size_t length = 0;
    while (text[length] != '\0')
        ++length;
    return length;
}
}
