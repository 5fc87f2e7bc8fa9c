// SPDX-License-Identifier: LGPL-2.1-only
// Memory functions for blobs: the compiler may call them for assignments and loops, even without libc.
#include <stddef.h>
#include <stdint.h>

namespace {

/// A word that may lie at any address and may be a part of any object.
typedef uint64_t Word __attribute__((may_alias, aligned(1)));

}  // namespace

extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    for (; size >= sizeof(Word); size -= sizeof(Word), target += sizeof(Word), source += sizeof(Word))
        *reinterpret_cast<Word*>(target) = *reinterpret_cast<const Word*>(source);
    while (size-- > 0)
        *target++ = *source++;
    return to;
}

void* memmove(void* to, const void* from, size_t size) {
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    // Each word is read before it is written, so copying forwards suits a target below the source.
    if (target <= source || target >= source + size)
        return memcpy(to, from, size);
    while (size-- > 0)
        target[size] = source[size];
    return to;
}

void* memset(void* to, int value, size_t size) {
    auto* target = static_cast<char*>(to);
    const Word pattern = static_cast<unsigned char>(value) * 0x0101010101010101ULL;
    for (; size >= sizeof(Word); size -= sizeof(Word), target += sizeof(Word))
        *reinterpret_cast<Word*>(target) = pattern;
    while (size-- > 0)
        *target++ = static_cast<char>(value);
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
