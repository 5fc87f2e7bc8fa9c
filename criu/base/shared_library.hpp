// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu {

/// A shared library that is loaded when it is needed (dlopen(3)), for what few runs use: a library that is linked in is
/// loaded by every run, with all the libraries below it. Its symbols are visible through this object only. It stays
/// loaded until the process ends, so that symbols outlive this object, and a second object of it costs next to nothing.
///
/// Paths of a process in another mount namespace lead to other files. What restored processes need of a library has to
/// be loaded before they are created.
class SharedLibrary {
public:
    enum class Binding {
        Lazy,  ///< a function that the library needs and that isn't there ends the process when it is called
        Now,   ///< is an error
    };

    /// An address that becomes a pointer of the type it is assigned to.
    class Symbol {
    public:
        explicit Symbol(void* address) noexcept : address_(address) {}
        template <typename T>
        operator T*() const noexcept {
            return reinterpret_cast<T*>(address_);
        }

    private:
        void* address_;
    };

    /// `file`: a name that the dynamic linker looks up ("libarchive.so.13"), or a path. `package`: what Debian calls
    /// the package it is in, for the message, or empty. Throws Error.
    explicit SharedLibrary(std::string file, std::string_view package = {}, Binding binding = Binding::Lazy);

    /// Whether such a library can be loaded; then it is.
    [[nodiscard]] static bool isInstalled(const char* file) noexcept;

    /// Throws Error if the library lacks the symbol.
    [[nodiscard]] Symbol operator[](const char* name) const;
    /// Null if the library lacks it.
    [[nodiscard]] Symbol find(const char* name) const noexcept;

private:
    std::string file_;
    void* handle_;
};

}  // namespace criu
