// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu {

/// Shared library that criu loads on demand (dlopen(3)). The dynamic linker would load a linked library in every run,
/// with all its dependencies. Other code doesn't see the symbols of the library. It stays loaded until the process
/// ends, so symbols stay valid, and a second object costs little.
///
/// In another mount namespace, the path of the library may refer to another file. So criu loads libraries that restored
/// processes need before it creates these processes.
class SharedLibrary {
public:
    enum class Binding {
        Lazy,  ///< if a function is missing, the process ends when it calls the function
        Now,   ///< if a function is missing, the constructor throws Error
    };

    /// Address of a symbol, which converts to any pointer type.
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

    /// Loads the library. `file` is a path, or a name that the dynamic linker searches ("libarchive.so.13"). `package`
    /// is the name of the Debian package for the error message; it may be empty. Throws Error.
    explicit SharedLibrary(std::string file, std::string_view package = {}, Binding binding = Binding::Lazy);

    /// Loads the library, and returns true if that succeeds.
    [[nodiscard]] static bool isInstalled(const char* file) noexcept;

    /// Returns the address of a symbol. Throws Error if the library lacks it.
    [[nodiscard]] Symbol operator[](const char* name) const;
    /// Returns the address of a symbol; null if the library lacks it.
    [[nodiscard]] Symbol find(const char* name) const noexcept;

private:
    std::string file_;
    void* handle_;
};

}  // namespace criu
