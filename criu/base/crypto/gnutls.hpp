// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gnutls/gnutls.h>

#include <string>
#include <string_view>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::crypto {

/// Functions of GnuTLS that all users of the library in criu need. The constructor throws Error if GnuTLS isn't
/// installed.
struct GnuTls {
    SharedLibrary library{"libgnutls.so.30", "libgnutls30"};
    decltype(&::gnutls_strerror) describe = library["gnutls_strerror"];
    // GnuTLS exports a variable that contains the function
    decltype(&::gnutls_free) freeMemory = library["gnutls_free"];

    /// Throws Error if `result` is an error code of GnuTLS. The message contains `what` and GnuTLS' text for the code.
    void require(int result, std::string_view what) const;
    /// Returns a text that describes the defects of a certificate.
    [[nodiscard]] std::string describeStatus(unsigned status) const;
};

/// Returns a reference to bytes in GnuTLS' type. GnuTLS only reads the bytes. Throws Error if the length doesn't fit
/// into this type.
[[nodiscard]] gnutls_datum_t datumOf(Bytes bytes);

}  // namespace criu::crypto
