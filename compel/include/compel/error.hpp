// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace compel {

/// Base class of all errors of libcompel, and of programs that want one base class for everything. It holds the failed
/// action with its thread or file, errno (0 if no system call failed) and the contexts. The constructor copies the
/// contexts that live in the calling thread (ErrorContext).
class Error : public std::exception {
public:
    /// Creates an error. `code` is a positive errno, or 0 if no system call failed.
    Error(int code, std::string attempted);

    [[nodiscard]] int code() const noexcept { return code_; }

    /// Adds the contexts of the calling thread that the error doesn't have yet. For an error that was created in
    /// another thread or scope and is thrown again here.
    Error& addLiveContexts();
    /// Adds advice for the user, shown behind the message.
    Error& addHint(std::string_view hint);

    /// Returns contexts, outermost first, and message: "process 7 (sleep): fd 3: open /x: Permission denied (hint)".
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    /// Returns the text without contexts. For a new error that quotes this one inside the same contexts.
    [[nodiscard]] std::string message() const;

private:
    struct Context {
        std::string text;
        std::uint64_t id;  ///< id of the ErrorContext
    };
    void compose();

    int code_;
    std::string attempted_;
    std::string hint_;
    std::vector<Context> contexts_;  ///< innermost first
    std::string text_;
};

/// Error for a thread or process that ended while libcompel worked on it.
class TraceeGone : public Error {
public:
    using Error::Error;
};

/// Base class of ErrorContext without the type of the description: an entry in the thread's chain of contexts.
class LiveContext {
public:
    LiveContext(const LiveContext&) = delete;
    LiveContext& operator=(const LiveContext&) = delete;

protected:
    using Describe = std::string (*)(const LiveContext&);
    explicit LiveContext(Describe describe) noexcept;
    ~LiveContext();

private:
    friend class Error;
    [[nodiscard]] std::uint64_t id() const noexcept;

    Describe describe_;
    const LiveContext* outer_;
    mutable std::uint64_t id_ = 0;  ///< unique in the process; assigned when an error needs it
};

/// Scope that adds context to errors. Every Error that the thread creates during the scope begins with the result of
/// `describe`, before the contexts of inner scopes:
///
///     const ErrorContext context([&] { return "process " + std::to_string(pid); });
///
/// Without an error it costs two writes. `describe` runs where an error is created, deep inside the scope. All that it
/// refers to must be valid during the whole scope, and it must not take a lock that the scope holds. If `describe`
/// throws, the error doesn't get this context.
///
/// Contexts belong to threads and scopes, not to the path of an exception. A new thread starts without contexts. To
/// throw an error again in another scope or thread, for instance from a thread pool, use rethrow(). A forked child
/// starts with the contexts of its parent (NoOuterContexts). Exceptions of other types get no contexts.
template <typename Description>
class [[nodiscard]] ErrorContext : private LiveContext {
public:
    explicit ErrorContext(Description describe) noexcept(std::is_nothrow_move_constructible_v<Description>)
        : LiveContext(&ErrorContext::text), description_(std::move(describe)) {}

private:
    static std::string text(const LiveContext& self) {
        return std::string(static_cast<const ErrorContext&>(self).description_());
    }

    Description description_;
};

/// Scope in which errors don't get the contexts of outer scopes. For code whose errors another process reports with
/// contexts of its own, such as a forked child.
class [[nodiscard]] NoOuterContexts {
public:
    NoOuterContexts() noexcept;
    ~NoOuterContexts();
    NoOuterContexts(const NoOuterContexts&) = delete;
    NoOuterContexts& operator=(const NoOuterContexts&) = delete;

private:
    const LiveContext* outer_;
};

/// Throws like std::rethrow_exception(). An Error gets the contexts of the calling thread that it doesn't have yet.
[[noreturn]] void rethrow(std::exception_ptr failure);

}  // namespace compel
