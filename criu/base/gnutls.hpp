// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <gnutls/gnutls.h>

#include <string>
#include <string_view>

#include "criu/base/crypto.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::crypto {

/// What all that is done by GnuTLS has in common. Throws Error if it isn't installed.
struct GnuTls {
    SharedLibrary library{"libgnutls.so.30", "libgnutls30"};
    decltype(&::gnutls_strerror) describe = library["gnutls_strerror"];
    decltype(&::gnutls_free) freeMemory = library["gnutls_free"];  // a variable of the library, which holds a function

    /// Throws Error if this is one; `what` failed.
    void require(int result, std::string_view what) const;
    /// What is wrong with a certificate, in words.
    [[nodiscard]] std::string describeStatus(unsigned status) const;
};

/// Bytes that GnuTLS is given, and doesn't change. Throws Error if it can't take so many.
[[nodiscard]] gnutls_datum_t datumOf(Bytes bytes);

}  // namespace criu::crypto
