// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "criu/base/error.hpp"

namespace criu::kernel {

/// Cursor over a text of the kernel. Allocates no memory. A failed call leaves the cursor unchanged. The need…()
/// functions throw criu::Error with the expected item and the text at the cursor.
class Scanner {
public:
    constexpr explicit Scanner(std::string_view text) noexcept : rest_(text) {}

    [[nodiscard]] constexpr bool done() const noexcept { return rest_.empty(); }
    [[nodiscard]] constexpr std::string_view rest() const noexcept { return rest_; }
    [[nodiscard]] constexpr char peek() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }

    /// Returns the next line without its newline in `out`. The last line may lack a newline. Returns false at the end
    /// of the text.
    constexpr bool line(std::string_view& out) noexcept {
        if (rest_.empty())
            return false;
        out = until('\n');
        skip('\n');
        return true;
    }

    /// Returns the text before `stop`, or all remaining text, and moves the cursor to `stop`.
    constexpr std::string_view until(char stop) noexcept {
        // GCC 12 warns of an impossible size without this condition (-Wstringop-overread).
        if (rest_.size() > std::numeric_limits<std::size_t>::max() / 2)
            __builtin_unreachable();
        const std::size_t length = std::min(rest_.find(stop), rest_.size());
        const std::string_view found = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return found;
    }

    constexpr void blanks() noexcept {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
            rest_.remove_prefix(1);
    }

    /// Skips blanks, and returns the next characters up to a blank or newline.
    constexpr std::string_view word() noexcept {
        blanks();
        std::size_t length = 0;
        while (length < rest_.size() && rest_[length] != ' ' && rest_[length] != '\t' && rest_[length] != '\n')
            ++length;
        const std::string_view found = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return found;
    }

    constexpr bool skip(char expected) noexcept {
        if (rest_.empty() || rest_.front() != expected)
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    constexpr bool skip(std::string_view expected) noexcept {
        if (!rest_.starts_with(expected))
            return false;
        rest_.remove_prefix(expected.size());
        return true;
    }

    /// Skips blanks and parses a number. It accepts no "0x", and no sign for unsigned types. Returns false if there is
    /// no number, or if it doesn't fit into the type.
    template <std::integral Number>
    bool number(Number& out, int base = 10) noexcept {
        Scanner ahead = *this;
        ahead.blanks();
        const char* const first = ahead.rest_.data();
        const auto [end, failure] = std::from_chars(first, first + ahead.rest_.size(), out, base);
        if (failure != std::errc{})
            return false;
        ahead.rest_.remove_prefix(static_cast<std::size_t>(end - first));
        *this = ahead;
        return true;
    }

    template <std::integral Number>
    [[nodiscard]] Number needNumber(std::string_view what, int base = 10) {
        Number value{};
        if (!number(value, base))
            expected(what);
        return value;
    }

    template <std::integral Number>
    void needNumber(Number& out, std::string_view what, int base = 10) {
        out = needNumber<Number>(what, base);
    }

    template <typename Text>
    void need(Text text, std::string_view what) {
        if (!skip(text))
            expected(what);
    }

    [[noreturn]] void expected(std::string_view what) const {
        constexpr std::size_t shown = 40;
        fail("expected {} at \"{}\"", what, rest_.substr(0, std::min(shown, rest_.find('\n'))));
    }

private:
    std::string_view rest_;
};

/// Parses a text that contains one number, with optional blanks and newline, such as /proc/PID/oom_score_adj.
template <std::integral Number>
[[nodiscard]] Number parseLoneNumber(std::string_view text, std::string_view what, int base = 10) {
    Scanner scan(text);
    const auto value = scan.needNumber<Number>(what, base);
    scan.blanks();
    scan.skip('\n');
    if (!scan.done())
        scan.expected("the end");
    return value;
}

/// Decodes the kernel's "\ooo" escapes, but only for the bytes in `escaped`. Another backslash belongs to the name: in
/// a file in which the kernel doesn't escape backslashes, `escaped` doesn't contain the backslash.
std::string decodeOctal(std::string_view text, std::string_view escaped);

}  // namespace criu::kernel
