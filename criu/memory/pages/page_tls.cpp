// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_tls.hpp"

#include <gnutls/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "criu/base/crypto/gnutls.hpp"
#include "criu/base/error.hpp"

namespace criu::memory {
namespace {

// Default paths of CRIU 4.2.
constexpr const char* kAuthorities = "/etc/pki/CA/cacert.pem";
constexpr const char* kRevocations = "/etc/pki/CA/cacrl.pem";
constexpr const char* kCertificate = "/etc/pki/criu/cert.pem";
constexpr const char* kKey = "/etc/pki/criu/private/key.pem";

ssize_t push(void* socket, const void* bytes, std::size_t size) {
    return ::send(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t pull(void* socket, void* bytes, std::size_t size) {
    return ::recv(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_DONTWAIT);
}

/// Throws Error if the group may write to the key, or if users other than the owner and the group may access it.
void requirePrivate(const std::string& key) {
    struct stat status {};
    sys(::stat(key.c_str(), &status), "TLS: --tls-key {}", key);
    if ((status.st_mode & (S_IRWXO | S_IWGRP)) == 0)
        return;
    Error error(EPERM,
                fmt::format("TLS: --tls-key {}: others may use the key (mode {:#o})", key, status.st_mode & 07777));
    error.addHint(fmt::format("chmod 600 {}", key));
    throw error;
}

}  // namespace

class TlsCredentials::Library : public crypto::GnuTls {
public:
    decltype(&::gnutls_error_is_fatal) isFatal = library["gnutls_error_is_fatal"];
    decltype(&::gnutls_certificate_allocate_credentials) makeCredentials =
        library["gnutls_certificate_allocate_credentials"];
    decltype(&::gnutls_certificate_free_credentials) freeCredentials = library["gnutls_certificate_free_credentials"];
    decltype(&::gnutls_certificate_set_x509_trust_file) trustFile = library["gnutls_certificate_set_x509_trust_file"];
    decltype(&::gnutls_certificate_set_x509_crl_file) revoke = library["gnutls_certificate_set_x509_crl_file"];
    decltype(&::gnutls_certificate_set_x509_key_file) setKey = library["gnutls_certificate_set_x509_key_file"];
    decltype(&::gnutls_init) makeSession = library["gnutls_init"];
    decltype(&::gnutls_deinit) freeSession = library["gnutls_deinit"];
    decltype(&::gnutls_credentials_set) setCredentials = library["gnutls_credentials_set"];
    decltype(&::gnutls_set_default_priority_append) setPriority = library["gnutls_set_default_priority_append"];
    decltype(&::gnutls_transport_set_ptr) setPointer = library["gnutls_transport_set_ptr"];
    decltype(&::gnutls_transport_set_push_function) setPush = library["gnutls_transport_set_push_function"];
    decltype(&::gnutls_transport_set_pull_function) setPull = library["gnutls_transport_set_pull_function"];
    decltype(&::gnutls_certificate_server_set_request) requireCertificate =
        library["gnutls_certificate_server_set_request"];
    decltype(&::gnutls_certificate_send_x509_rdn_sequence) hideAuthorities =
        library["gnutls_certificate_send_x509_rdn_sequence"];
    decltype(&::gnutls_handshake) handshake = library["gnutls_handshake"];
    decltype(&::gnutls_record_get_direction) direction = library["gnutls_record_get_direction"];
    decltype(&::gnutls_certificate_verify_peers) verify = library["gnutls_certificate_verify_peers"];
    decltype(&::gnutls_record_send) send = library["gnutls_record_send"];
    decltype(&::gnutls_record_recv) receive = library["gnutls_record_recv"];
    decltype(&::gnutls_bye) bye = library["gnutls_bye"];
};

struct TlsCredentials::Loaded {
    explicit Loaded(const TlsSettings& settings) : peerName(settings.peerName) {
        require(library.makeCredentials(&credentials), "prepare");
        try {
            load(settings);
        } catch (...) {
            library.freeCredentials(credentials);
            throw;
        }
    }
    ~Loaded() { library.freeCredentials(credentials); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    template <typename Result>
    Result require(Result result, std::string_view what) const {
        if (result < 0)
            fail("TLS: {}: {}", what, library.describe(static_cast<int>(result)));
        return result;
    }

    const Library library;
    const std::optional<std::string> peerName;
    gnutls_certificate_credentials_t credentials = nullptr;

private:
    void load(const TlsSettings& settings) const {
        const std::string authorities = settings.authorities.value_or(kAuthorities);
        const int trusted = library.trustFile(credentials, authorities.c_str(), GNUTLS_X509_FMT_PEM);
        if (trusted <= 0) {
            Error error(0, fmt::format("TLS: --tls-cacert {}: {}", authorities,
                                       trusted < 0 ? library.describe(trusted) : "no certificate"));
            error.addHint("name the file of the authorities that sign certificates of both sides (--tls-cacert)");
            throw error;
        }
        const std::string revocations = settings.revocations.value_or(kRevocations);
        if (settings.revocations || ::access(revocations.c_str(), R_OK) == 0)
            require(library.revoke(credentials, revocations.c_str(), GNUTLS_X509_FMT_PEM),
                    "--tls-cacrl " + revocations);
        const std::string certificate = settings.certificate.value_or(kCertificate);
        const std::string key = settings.key.value_or(kKey);
        requirePrivate(key);
        require(library.setKey(credentials, certificate.c_str(), key.c_str(), GNUTLS_X509_FMT_PEM),
                fmt::format("--tls-cert {} with --tls-key {}", certificate, key));
    }
};

TlsCredentials::TlsCredentials(const TlsSettings& settings) : loaded_(std::make_unique<const Loaded>(settings)) {}

TlsCredentials::~TlsCredentials() = default;

class PageTls::State {
public:
    State(int socket, Side side, std::shared_ptr<const TlsCredentials> credentials)
        : credentials_(std::move(credentials)), library(loaded().library), side_(side) {
        try {
            start(socket);
        } catch (...) {
            free();
            throw;
        }
    }
    ~State() { free(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    template <typename Result>
    Result require(Result result, std::string_view what) const {
        return loaded().require(result, what);
    }

    void requireGoodPeer() const {
        const std::optional<std::string>& name = loaded().peerName;
        std::string purpose = side_ == Side::Server ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER;
        std::string host = name.value_or("");
        gnutls_typed_vdata_st conditions[] = {
            {GNUTLS_DT_KEY_PURPOSE_OID, reinterpret_cast<unsigned char*>(purpose.data()), 0},
            {GNUTLS_DT_DNS_HOSTNAME, reinterpret_cast<unsigned char*>(host.data()), 0},
        };
        unsigned status = 0;
        require(library.verify(session, conditions, name ? 2 : 1, &status), "check the other side");
        if (status == 0)
            return;
        fail("TLS: the other side's certificate{}{} isn't good: {}", name ? " as " : "", host,
             library.describeStatus(status));
    }

private:
    const std::shared_ptr<const TlsCredentials> credentials_;

public:
    const TlsCredentials::Library& library;
    gnutls_session_t session = nullptr;

private:
    [[nodiscard]] const TlsCredentials::Loaded& loaded() const noexcept { return *credentials_->loaded_; }

    void start(int socket) {
        require(library.makeSession(&session, side_ == Side::Server ? GNUTLS_SERVER : GNUTLS_CLIENT), "make a session");
        require(library.setCredentials(session, GNUTLS_CRD_CERTIFICATE, loaded().credentials), "use certificates");
        require(library.setPriority(session, "-VERS-TLS1.0:-VERS-TLS1.1", nullptr, 0), "choose ciphers");
        library.setPointer(session, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
        library.setPush(session, push);
        library.setPull(session, pull);
        if (side_ == Side::Server) {
            library.requireCertificate(session, GNUTLS_CERT_REQUIRE);
            library.hideAuthorities(session, 1);
        }
    }

    void free() noexcept {
        if (session != nullptr)
            library.freeSession(session);
    }

    const Side side_;
};

PageTls::PageTls(int socket, Side side, std::shared_ptr<const TlsCredentials> credentials)
    : state_(std::make_unique<State>(socket, side, std::move(credentials))) {}

PageTls::~PageTls() = default;

PageTls::Step PageTls::handshake() {
    const TlsCredentials::Library& tls = state_->library;
    for (;;) {
        const int result = tls.handshake(state_->session);
        if (result == GNUTLS_E_AGAIN)
            return {0, static_cast<short>(tls.direction(state_->session) == 0 ? POLLIN : POLLOUT), false};
        if (result == 0)
            break;
        if (tls.isFatal(result) != 0)
            fail("TLS: begin: {}", tls.describe(result));
    }
    state_->requireGoodPeer();
    return {};
}

PageTls::Step PageTls::send(std::span<const std::byte> bytes) {
    for (;;) {
        const ssize_t done = state_->library.send(state_->session, bytes.data(), bytes.size());
        if (done == GNUTLS_E_AGAIN)
            return {0, POLLOUT, false};
        if (done != GNUTLS_E_INTERRUPTED)
            return {static_cast<std::size_t>(state_->require(done, "send")), 0, false};
    }
}

PageTls::Step PageTls::receive(std::span<std::byte> bytes) {
    for (;;) {
        const ssize_t done = state_->library.receive(state_->session, bytes.data(), bytes.size());
        if (done == GNUTLS_E_AGAIN)
            return {0, POLLIN, false};
        if (done == 0 || done == GNUTLS_E_PREMATURE_TERMINATION)
            return {0, 0, true};
        if (done > 0 || state_->library.isFatal(static_cast<int>(done)) != 0)
            return {static_cast<std::size_t>(state_->require(done, "receive")), 0, false};
    }
}

void PageTls::close() noexcept {
    (void)state_->library.bye(state_->session, GNUTLS_SHUT_WR);
}

}  // namespace criu::memory
