// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gnutls/gnutls.h>

#include <string>
#include <string_view>

#include "criu/base/crypto.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::crypto {

/// Functions of GnuTLS that all users of the library need. Throws Error if GnuTLS isn't installed.
struct GnuTls {
    SharedLibrary library{"libgnutls.so.30", "libgnutls30"};
    decltype(&::gnutls_strerror) describe = library["gnutls_strerror"];
    decltype(&::gnutls_free) freeMemory = library["gnutls_free"];  // a variable of the library that holds a function

    /// Throws Error if `result` is an error code. The message says that `what` failed.
    void require(int result, std::string_view what) const;
    /// Returns the defects of a certificate in words.
    [[nodiscard]] std::string describeStatus(unsigned status) const;
};

/// Returns a reference to bytes for GnuTLS, which only reads them. Throws Error if the length exceeds GnuTLS' type
/// for it.
[[nodiscard]] gnutls_datum_t datumOf(Bytes bytes);

}  // namespace criu::crypto
