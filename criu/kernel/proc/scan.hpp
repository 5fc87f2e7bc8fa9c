// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "criu/base/error.hpp"

namespace criu::kernel {

/// A cursor over text the kernel wrote. Allocates nothing. Every call either advances and succeeds, or leaves the
/// cursor where it was; the need…() forms throw criu::Error naming what was expected and where it was missing.
class Scanner {
public:
    constexpr explicit Scanner(std::string_view text) noexcept : rest_(text) {}

    [[nodiscard]] constexpr bool done() const noexcept { return rest_.empty(); }
    [[nodiscard]] constexpr std::string_view rest() const noexcept { return rest_; }
    [[nodiscard]] constexpr char peek() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }

    /// Next line without its newline; the last one may lack it. False at the end.
    constexpr bool line(std::string_view& out) noexcept {
        if (rest_.empty())
            return false;
        out = until('\n');
        skip('\n');
        return true;
    }

    /// What comes before `stop` (or all that is left); the cursor is then at `stop`.
    constexpr std::string_view until(char stop) noexcept {
        const std::size_t length = std::min(rest_.find(stop), rest_.size());
        const std::string_view found = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return found;
    }

    constexpr void blanks() noexcept {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
            rest_.remove_prefix(1);
    }

    /// The next run of characters that are neither blank nor newline; leading blanks are passed over.
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

    /// A number behind optional blanks. No sign for unsigned types, no "0x". False if there is none or it doesn't fit.
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

/// One whole number and nothing else but blanks and a newline around it, as in /proc/PID/oom_score_adj.
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

/// Undoes the kernel's "\ooo" escaping of bytes in names, for the octal codes of the bytes in `escaped` only: other
/// backslashes are the name's own (the kernel escapes a backslash only where it is itself in the set).
std::string decodeOctal(std::string_view text, std::string_view escaped);

}  // namespace criu::kernel
