// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/crypto/gnutls.hpp"

#include <limits>

#include "criu/base/error.hpp"

namespace criu::crypto {

void GnuTls::require(int result, std::string_view what) const {
    if (result < 0)
        fail("{}: {}", what, describe(result));
}

std::string GnuTls::describeStatus(unsigned status) const {
    const decltype(&::gnutls_certificate_verification_status_print) print =
        library["gnutls_certificate_verification_status_print"];
    gnutls_datum_t text{};
    if (print(status, GNUTLS_CRT_X509, &text, 0) < 0)
        return fmt::format("{:#x}", status);
    std::string said(reinterpret_cast<const char*>(text.data), text.size);
    (*freeMemory)(text.data);
    said.erase(said.find_last_not_of(' ') + 1);  // removes the blank that GnuTLS appends after the last sentence
    return said;
}

gnutls_datum_t datumOf(Bytes bytes) {
    if (bytes.size() > std::numeric_limits<unsigned>::max())
        fail("{} bytes are more than GnuTLS takes at once", bytes.size());
    return {const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data())),
            static_cast<unsigned>(bytes.size())};
}

}  // namespace criu::crypto
