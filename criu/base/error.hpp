// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/error.hpp>

#include <cerrno>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace criu {

/// Format string with the source location of its literal, so that errors and log lines contain their origin without
/// macros. Converts implicitly from a string literal.
template <typename... Args>
struct LocatedFormat {
    fmt::format_string<Args...> text;
    std::source_location where;

    template <typename T>
    consteval LocatedFormat(const T& literal, std::source_location at = std::source_location::current())
        : text(literal), where(at) {}
};

template <typename... Args>
using Located = LocatedFormat<std::type_identity_t<Args>...>;

using compel::ErrorContext;
using compel::NoOuterContexts;
using compel::rethrow;

/// Error of criu: a compel::Error with a source location for the log. A function throws it where it detects the
/// failure. The code that ends a phase catches and logs it, so each error is logged once. Code that also handles
/// failures of ptrace(2) catches compel::Error.
class Error : public compel::Error {
public:
    explicit Error(int code, std::string attempted, std::source_location where = std::source_location::current())
        : compel::Error(code, std::move(attempted)), where_(where) {}

    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

    Error& addHint(std::string_view hint) {
        compel::Error::addHint(hint);
        return *this;
    }

private:
    std::source_location where_;
};

/// Throws an Error without an errno value.
template <typename... Args>
[[noreturn]] void fail(Located<Args...> format, Args&&... args) {
    throw Error(0, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Throws an Error with the given errno value (positive).
template <typename... Args>
[[noreturn]] void failWith(int code, Located<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Throws an Error with the current errno.
template <typename... Args>
[[noreturn]] void failErrno(Located<Args...> format, Args&&... args) {
    const int code = errno;
    throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Returns the result of a system call, or throws Error with errno if the result is negative.
/// `sys(::open(p, O_RDONLY), "open {}", p)`
template <typename R, typename... Args>
R sys(R result, Located<Args...> format, Args&&... args) {
    if (result < 0)
        failErrno<Args...>(format, std::forward<Args>(args)...);
    return result;
}

/// Runs `body` with an error context, and returns its result. It is for expressions; statements use ErrorContext.
template <typename Describe, typename Body>
decltype(auto) inContext(Describe&& describe, Body&& body) {
    const ErrorContext context(std::forward<Describe>(describe));
    return std::forward<Body>(body)();
}

/// Returns the path of a source file relative to the root of the source tree, as log lines show it.
std::string_view sourceName(const std::source_location& where) noexcept;

}  // namespace criu
