// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu {

/// A shared library that criu loads on demand (dlopen(3)). A linked library would be loaded by every run, with all
/// its dependencies. Only this object sees its symbols. The library stays loaded until the process ends, so symbols
/// stay valid and a second object is cheap.
///
/// In another mount namespace, the library's path may lead to another file. So criu loads libraries for restored
/// processes before it creates these processes.
class SharedLibrary {
public:
    enum class Binding {
        Lazy,  ///< a function missing in a dependency ends the process when called
        Now,   ///< a missing function is an error
    };

    /// Address that converts to any pointer type.
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

    /// Loads the library. `file` is a name for the dynamic linker ("libarchive.so.13") or a path. `package` is the
    /// Debian package for the message, or empty. Throws Error.
    explicit SharedLibrary(std::string file, std::string_view package = {}, Binding binding = Binding::Lazy);

    /// True if the library can be loaded. Loads it.
    [[nodiscard]] static bool isInstalled(const char* file) noexcept;

    /// Throws Error if the library lacks the symbol.
    [[nodiscard]] Symbol operator[](const char* name) const;
    /// Returns null if the library lacks the symbol.
    [[nodiscard]] Symbol find(const char* name) const noexcept;

private:
    std::string file_;
    void* handle_;
};

}  // namespace criu
