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

/// Base class of all errors of libcompel. Programs may use it for their own errors. It contains the failed action, the
/// errno of the failed system call, and contexts. The constructor copies the contexts of the calling thread
/// (ErrorContext).
class Error : public std::exception {
public:
    /// Creates an error. `code`: positive errno, or 0 if no system call failed. `attempted`: the failed action, with
    /// its thread or file.
    Error(int code, std::string attempted);

    [[nodiscard]] int code() const noexcept { return code_; }

    /// Adds those contexts of the calling thread that the error doesn't have yet. Use it before you throw an error
    /// again that was created in another thread or scope.
    Error& addLiveContexts();
    /// Adds advice for the user. what() returns it after the message.
    Error& addHint(std::string_view hint);

    /// Returns the contexts from the outermost to the innermost, and the message, for instance "process 7 (sleep): fd
    /// 3: open /x: Permission denied (hint)".
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    /// Returns the text of what() without the hint.
    [[nodiscard]] std::string reason() const;
    /// Returns the hint; empty without addHint().
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }
    /// Returns the text without contexts, for a new error that quotes this error and gets the same contexts.
    [[nodiscard]] std::string message() const;

private:
    struct Context {
        std::string text;
        std::uint64_t id;  ///< id of the LiveContext
    };
    [[nodiscard]] std::string contexts() const;
    [[nodiscard]] std::string failure() const;
    void compose();

    int code_;
    std::string attempted_;
    std::string hint_;
    std::vector<Context> contexts_;  ///< contexts from the innermost to the outermost
    std::string text_;
};

/// Error that libcompel throws if a traced thread or process has ended.
class TraceeGone : public Error {
public:
    using Error::Error;
};

/// Base class of all ErrorContext types: an element of the thread's linked list of contexts.
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
    mutable std::uint64_t id_ = 0;  ///< number that is unique in the process; 0 until an error needs it
};

/// Scope that adds context to errors. The text of every Error that the thread creates during the scope begins with the
/// result of `describe`:
///
///     const ErrorContext context([&] { return "process " + std::to_string(pid); });
///
/// Without an error, the scope costs two writes. The constructor of an Error calls `describe`, so all variables in
/// `describe` must be valid during the whole scope. `describe` must not take a lock that is held in the scope. If
/// `describe` throws, the error doesn't get this context.
///
/// A new thread starts without contexts. A forked child starts with the contexts of its parent (NoOuterContexts). To
/// throw an error again in another scope or thread, for instance an error of a thread pool, use rethrow(). Exceptions
/// of other types get no contexts.
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

/// Scope in which errors don't get the contexts of outer scopes. Use it for instance in a forked child: if the parent
/// reports the child's error, it adds the same contexts.
class [[nodiscard]] NoOuterContexts {
public:
    NoOuterContexts() noexcept;
    ~NoOuterContexts();
    NoOuterContexts(const NoOuterContexts&) = delete;
    NoOuterContexts& operator=(const NoOuterContexts&) = delete;

private:
    const LiveContext* outer_;
};

/// Throws the exception again. If it is an Error, first adds those contexts of the calling thread that it doesn't have
/// yet.
[[noreturn]] void rethrow(std::exception_ptr failure);

}  // namespace compel
