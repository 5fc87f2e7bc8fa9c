// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// Keys, certificates and encrypted data, made by openssl(1): `genpkey`, `pkey -pubout`, `ca`, `pkeyutl`. All
/// certificates but two are valid from 2020 to 2120.
namespace criu::test::pki {

// clang-format off

/// RSA key of 2048 bits in PKCS #8.
inline constexpr const char* kRsaSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC4t/EInREEm4mh\n"
    "knyDbE7FSAlPW4/cupMlyHJs2JNjDTAQaaKxjeKC+IiOp3gahuUzVGWWjqGoheq8\n"
    "Zie3SG32C1YWjyDL7CLOP0ki2LPkQS9bZ8xE/nxvq03WmmeRGo2fdoH7GcvZHvcJ\n"
    "jr9y/dDT4DEb4aZ4RLzRtlkYsJo1endpogDFi4rSbWA/wpiTuY43YoB1pDdAQyjl\n"
    "d1TEfrfd9NE382EmmpKtswwcgcTSbtmV1E0MVEQpe7rYwK/jSOqHlhbdYE7RGPcr\n"
    "kI56Rt+lhTNjDM4uRlXGy9FBL2mIzxxWN2sdgpZo+jzLyTY8qjUQdLogNbdNbJ6f\n"
    "864zZ+F5AgMBAAECggEADxpnGFOzVQOcpLvT93DvHd1OeZEceak9p8y0Ymbw4hvt\n"
    "bqIcfdUCjL/idnuF6/FUozZG2iEOYbeVYlMd8zP2XbQ+lTidr16+18s/4RwD1Wlp\n"
    "BFm/z3JZXU4N3rqgNjKMGto3NX899iI8g6kKyU2see5uRX/VOycvoxv8O/MQoMef\n"
    "hSPFOmiJlztayIlCt028jlNa2Gc/7nYOOi6Q9AQPrgJK18KA2OS6kvDJlXdB9UMU\n"
    "Pmqv++rtuwFO1bXoGdu1xhJqTx0D1YxIgb8S1yzW2SDMK2TfVNw21hmS6b5qVxQv\n"
    "tnzpyY5QLPsIG5L1QDkkd8dzHVigMZ/RN8LAvZSSSwKBgQDm1v1UDGIJY2xvoMf/\n"
    "ajisj/walSCr6qD9Yw6cbz4q7NGYEyqoAWleDW7cvVgBfOYK//qspW+EGVtWX9jr\n"
    "3EgMRyrj3oxO6ol2xRZnTOpvsQS257O52Z63FvXlPPAhOqjc4imqVUAt7/EgKx1D\n"
    "6TxPDndILbe+ZpDvYlqhURhkwwKBgQDM2g1nIY+NVyqxtQZWuoBi8+pLnNAQKV73\n"
    "TeoopafzAko8/K9HNTeJiYhDO92EuYA7LVi2Lp6J149C0HDQ6fEMaYsqg5ofjFtI\n"
    "Bl/xzRY1JWqFBjoD4pc/aMyU1jNh78T9IkgSmQFscqvyfEOpv2ennjFhkf/3BtGc\n"
    "lLdW3vONEwKBgEXTYm26ES2l1Xcuu1CXYO1R4IBp+6gFIQ2EmTbYr4VsfTnzEkQf\n"
    "qS+6AH7lB2nrzeol5D21DTZ4NRi7hXJS/7g3DtI+z1JPv6UdmNlGeuOuOC7bh5IA\n"
    "MfJQD7F37Wsfw1SNVO0hPHioy9dfM0sHkiaXyZ0btyjw/YZryd5iGW7hAoGACRPA\n"
    "dElwavrp0WYMGdu5xKi6QQ95yL2Mj7jMH3D3uDTpxToNKkKZa2bEuvX0IuV1YSnp\n"
    "PGlkbQc4OeWymg9DtyEWIZQjSDKX+OEPb09/JGu8BJj6CSIJQa4LIq07KaPOPsk+\n"
    "GFTfU0bhh6Up+mOY3DyOQ5yMkw2iTCXq2daXRDECgYALAHWWgMQTA4guG0U66PaC\n"
    "sxYVAoBdmwKPlfbg38KtZcu4XTzIWCt0YxCNJUoFghapMhJb7/1LPXyAMhCxrXZY\n"
    "F8kl6feT5JhMd/STI1R/RAtVuzu+s8Rq6b1voLQwezRkLDEy4Cch2B7Wsc3Yhx7+\n"
    "exQAo56M1va0j3jWar6SLw==\n"
    "-----END PRIVATE KEY-----\n";

/// kRsaSecret in PKCS #1.
inline constexpr const char* kRsaSecretPkcs1 =
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEogIBAAKCAQEAuLfxCJ0RBJuJoZJ8g2xOxUgJT1uP3LqTJchybNiTYw0wEGmi\n"
    "sY3igviIjqd4GoblM1Rllo6hqIXqvGYnt0ht9gtWFo8gy+wizj9JItiz5EEvW2fM\n"
    "RP58b6tN1ppnkRqNn3aB+xnL2R73CY6/cv3Q0+AxG+GmeES80bZZGLCaNXp3aaIA\n"
    "xYuK0m1gP8KYk7mON2KAdaQ3QEMo5XdUxH633fTRN/NhJpqSrbMMHIHE0m7ZldRN\n"
    "DFREKXu62MCv40jqh5YW3WBO0Rj3K5COekbfpYUzYwzOLkZVxsvRQS9piM8cVjdr\n"
    "HYKWaPo8y8k2PKo1EHS6IDW3TWyen/OuM2fheQIDAQABAoIBAA8aZxhTs1UDnKS7\n"
    "0/dw7x3dTnmRHHmpPafMtGJm8OIb7W6iHH3VAoy/4nZ7hevxVKM2RtohDmG3lWJT\n"
    "HfMz9l20PpU4na9evtfLP+EcA9VpaQRZv89yWV1ODd66oDYyjBraNzV/PfYiPIOp\n"
    "CslNrHnubkV/1TsnL6Mb/DvzEKDHn4UjxTpoiZc7WsiJQrdNvI5TWthnP+52Djou\n"
    "kPQED64CStfCgNjkupLwyZV3QfVDFD5qr/vq7bsBTtW16BnbtcYSak8dA9WMSIG/\n"
    "Etcs1tkgzCtk31TcNtYZkum+alcUL7Z86cmOUCz7CBuS9UA5JHfHcx1YoDGf0TfC\n"
    "wL2UkksCgYEA5tb9VAxiCWNsb6DH/2o4rI/8GpUgq+qg/WMOnG8+KuzRmBMqqAFp\n"
    "Xg1u3L1YAXzmCv/6rKVvhBlbVl/Y69xIDEcq496MTuqJdsUWZ0zqb7EEtuezudme\n"
    "txb15TzwITqo3OIpqlVALe/xICsdQ+k8Tw53SC23vmaQ72JaoVEYZMMCgYEAzNoN\n"
    "ZyGPjVcqsbUGVrqAYvPqS5zQECle903qKKWn8wJKPPyvRzU3iYmIQzvdhLmAOy1Y\n"
    "ti6eidePQtBw0OnxDGmLKoOaH4xbSAZf8c0WNSVqhQY6A+KXP2jMlNYzYe/E/SJI\n"
    "EpkBbHKr8nxDqb9np54xYZH/9wbRnJS3Vt7zjRMCgYBF02JtuhEtpdV3LrtQl2Dt\n"
    "UeCAafuoBSENhJk22K+FbH058xJEH6kvugB+5Qdp683qJeQ9tQ02eDUYu4VyUv+4\n"
    "Nw7SPs9ST7+lHZjZRnrjrjgu24eSADHyUA+xd+1rH8NUjVTtITx4qMvXXzNLB5Im\n"
    "l8mdG7co8P2Ga8neYhlu4QKBgAkTwHRJcGr66dFmDBnbucSoukEPeci9jI+4zB9w\n"
    "97g06cU6DSpCmWtmxLr19CLldWEp6TxpZG0HODnlspoPQ7chFiGUI0gyl/jhD29P\n"
    "fyRrvASY+gkiCUGuCyKtOymjzj7JPhhU31NG4YelKfpjmNw8jkOcjJMNokwl6tnW\n"
    "l0QxAoGACwB1loDEEwOILhtFOuj2grMWFQKAXZsCj5X24N/CrWXLuF08yFgrdGMQ\n"
    "jSVKBYIWqTISW+/9Sz18gDIQsa12WBfJJen3k+SYTHf0kyNUf0QLVbs7vrPEaum9\n"
    "b6C0MHs0ZCwxMuAnIdge1rHN2Ice/nsUAKOejNb2tI941mq+ki8=\n"
    "-----END RSA PRIVATE KEY-----\n";

/// Public key of kRsaSecret.
inline constexpr const char* kRsaPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuLfxCJ0RBJuJoZJ8g2xO\n"
    "xUgJT1uP3LqTJchybNiTYw0wEGmisY3igviIjqd4GoblM1Rllo6hqIXqvGYnt0ht\n"
    "9gtWFo8gy+wizj9JItiz5EEvW2fMRP58b6tN1ppnkRqNn3aB+xnL2R73CY6/cv3Q\n"
    "0+AxG+GmeES80bZZGLCaNXp3aaIAxYuK0m1gP8KYk7mON2KAdaQ3QEMo5XdUxH63\n"
    "3fTRN/NhJpqSrbMMHIHE0m7ZldRNDFREKXu62MCv40jqh5YW3WBO0Rj3K5COekbf\n"
    "pYUzYwzOLkZVxsvRQS9piM8cVjdrHYKWaPo8y8k2PKo1EHS6IDW3TWyen/OuM2fh\n"
    "eQIDAQAB\n"
    "-----END PUBLIC KEY-----\n";

/// Certificate of kRsaSecret for key encipherment.
inline constexpr const char* kRsaCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICNzCCAdygAwIBAgICEAswCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA4xDDAK\n"
    "BgNVBAMMA3JzYTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBALi38Qid\n"
    "EQSbiaGSfINsTsVICU9bj9y6kyXIcmzYk2MNMBBporGN4oL4iI6neBqG5TNUZZaO\n"
    "oaiF6rxmJ7dIbfYLVhaPIMvsIs4/SSLYs+RBL1tnzET+fG+rTdaaZ5EajZ92gfsZ\n"
    "y9ke9wmOv3L90NPgMRvhpnhEvNG2WRiwmjV6d2miAMWLitJtYD/CmJO5jjdigHWk\n"
    "N0BDKOV3VMR+t9300TfzYSaakq2zDByBxNJu2ZXUTQxURCl7utjAr+NI6oeWFt1g\n"
    "TtEY9yuQjnpG36WFM2MMzi5GVcbL0UEvaYjPHFY3ax2Clmj6PMvJNjyqNRB0uiA1\n"
    "t01snp/zrjNn4XkCAwEAAaNSMFAwDgYDVR0PAQH/BAQDAgUgMB0GA1UdDgQWBBSD\n"
    "51D70tQ9ENVSNMF9Y8oBMkLOKjAfBgNVHSMEGDAWgBSylSqPi3ypmy4GRjJWJeh6\n"
    "C6XxtjAKBggqhkjOPQQDAgNJADBGAiEAx7q/WnIRePl6FRTuHa3emPqN8NfUbWJh\n"
    "34B4+Yz0tUICIQDq/cGcw1rIEaiikwnd0XXYriZwPnmNDutJHZiI2WQEDA==\n"
    "-----END CERTIFICATE-----\n";

/// Key on P-256 in PKCS #8.
inline constexpr const char* kP256Secret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYgyDx6qt+blChD61\n"
    "Qc+3LR5Ast4I2ZAd4TeaqIrtTk+hRANCAAS0EK1JGd25Fq00KRudtvTwYV5+PHgG\n"
    "6KyUWuUwZbPLtWO0QC3vX3CH4w4KnDhh5677l7zBY2CCc2uW2kREsAaw\n"
    "-----END PRIVATE KEY-----\n";

/// kP256Secret in SEC 1, with its parameters in front.
inline constexpr const char* kP256SecretSec1 =
    "-----BEGIN EC PARAMETERS-----\n"
    "BggqhkjOPQMBBw==\n"
    "-----END EC PARAMETERS-----\n"
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEIGIMg8eqrfm5QoQ+tUHPty0eQLLeCNmQHeE3mqiK7U5PoAoGCCqGSM49\n"
    "AwEHoUQDQgAEtBCtSRnduRatNCkbnbb08GFefjx4BuislFrlMGWzy7VjtEAt719w\n"
    "h+MOCpw4Yeeu+5e8wWNggnNrltpERLAGsA==\n"
    "-----END EC PRIVATE KEY-----\n";

/// Certificate of kP256Secret for key agreement.
inline constexpr const char* kP256Certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBazCCARKgAwIBAgICEAwwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTAL\n"
    "BgNVBAMMBHAyNTYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS0EK1JGd25Fq00\n"
    "KRudtvTwYV5+PHgG6KyUWuUwZbPLtWO0QC3vX3CH4w4KnDhh5677l7zBY2CCc2uW\n"
    "2kREsAawo1IwUDAOBgNVHQ8BAf8EBAMCAwgwHQYDVR0OBBYEFB+Rik3k2Wpvt0Lf\n"
    "hJckelsTMFneMB8GA1UdIwQYMBaAFLKVKo+LfKmbLgZGMlYl6HoLpfG2MAoGCCqG\n"
    "SM49BAMCA0cAMEQCIAqlszVMlj6j+pbwvKFHsXMKlV/KPRvifJ5g5N/FS8KGAiAN\n"
    "DH8edwbkD5Q+fh4YjG154iSf2cNb/1AK98shLtV+jw==\n"
    "-----END CERTIFICATE-----\n";

/// Key on P-384.
inline constexpr const char* kP384Secret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCrAGDp+BjGxx9GV+6O\n"
    "+PjPoY+Iv5wkaNA6WeX2lwlyUN0pERxCZ+4YPcx0RWM7GquhZANiAAT05Z1QiLjb\n"
    "dMR0lCGqrz8hidUSaC6cB52IANk1vkB1BenMWcLMJI1UKKoIKng1tZPXsJy/d62p\n"
    "Sxsrx/itz3vYsJRigcnR+6nXDtBEeEGRUFSHg7bsqjmIJM40ukvoHZE=\n"
    "-----END PRIVATE KEY-----\n";

/// Certificate of kP384Secret for key agreement.
inline constexpr const char* kP384Certificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBiDCCAS+gAwIBAgICEA0wCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTAL\n"
    "BgNVBAMMBHAzODQwdjAQBgcqhkjOPQIBBgUrgQQAIgNiAAT05Z1QiLjbdMR0lCGq\n"
    "rz8hidUSaC6cB52IANk1vkB1BenMWcLMJI1UKKoIKng1tZPXsJy/d62pSxsrx/it\n"
    "z3vYsJRigcnR+6nXDtBEeEGRUFSHg7bsqjmIJM40ukvoHZGjUjBQMA4GA1UdDwEB\n"
    "/wQEAwIDCDAdBgNVHQ4EFgQU+ZGEaCY1H1ZIx0EkhFyMn0lAghkwHwYDVR0jBBgw\n"
    "FoAUspUqj4t8qZsuBkYyViXoegul8bYwCgYIKoZIzj0EAwIDRwAwRAIgP05wrQgl\n"
    "TQT0S1wmvk2cjJMqKKflRejasjtEhVuqidcCIDG9qEfQbRKeSxiNtS9IukHi4wUv\n"
    "HGUKgjH5BMgu+uir\n"
    "-----END CERTIFICATE-----\n";

/// kP384Secret, encrypted with a passphrase.
inline constexpr const char* kLockedSecret =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIIBHDBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI7e45K8TegvYCAggA\n"
    "MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBA0ySFP93Zby7GQiU0y9iHxBIHA\n"
    "RW5Pl+KgdNpB46vLlDGAiSQGyeow/GzCn0j8XaGRJVsUdq+fGkMGMzNuzK7xZJqh\n"
    "3tvMMIQo5lf5DbkMboZWnIQ0eK74C/WQmnZdMqSBgV6b6MUdr8pmWaOkhyC+viX1\n"
    "1Z2NDl1BZZxxWtyrKJ98Ezcde6qpeOkDgoeg5mClykjn/Cm83UeTOXKKM9hHYfn0\n"
    "QIcXCHZtYlYWYT2JHpSstEX89zvcQxmvJfqtz5+uA1SW7ZqSvtSFIy0CSI3roVY7\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

/// Key on P-521.
inline constexpr const char* kP521Secret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBc2/aWp6tUSzWZRG2\n"
    "9ZjfP7eLbCMXEcwZMjH71pIvjp/oYK35Zurp3z+yHNADKm3lfSGTuyKIw4yCrznP\n"
    "+qflPlihgYkDgYYABAFX+1AhE4uatTBo8Mw2NPdtuMPdEi4wR7D17aibhZ1CmpMJ\n"
    "efYG8saW4w7mJd8BBJGF1EEPdL7xvZuWcBIfj7u4IAA6d8jkE4R7axjfqeIkO5Y0\n"
    "veBXZf5giSCDIoZLaOJGvgi+9+Xv+dq1DibK6ntG81RYIRrKujyrwYapKCzxJFK4\n"
    "Ug==\n"
    "-----END PRIVATE KEY-----\n";

/// Public key of kP521Secret.
inline constexpr const char* kP521Public =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBV/tQIROLmrUwaPDMNjT3bbjD3RIu\n"
    "MEew9e2om4WdQpqTCXn2BvLGluMO5iXfAQSRhdRBD3S+8b2blnASH4+7uCAAOnfI\n"
    "5BOEe2sY36niJDuWNL3gV2X+YIkggyKGS2jiRr4Ivvfl7/natQ4myup7RvNUWCEa\n"
    "yro8q8GGqSgs8SRSuFI=\n"
    "-----END PUBLIC KEY-----\n";

/// Certificate of kP521Secret for digital signature only.
inline constexpr const char* kP521SignsOnly =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBrjCCAVWgAwIBAgICEA4wCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTAL\n"
    "BgNVBAMMBHA1MjEwgZswEAYHKoZIzj0CAQYFK4EEACMDgYYABAFX+1AhE4uatTBo\n"
    "8Mw2NPdtuMPdEi4wR7D17aibhZ1CmpMJefYG8saW4w7mJd8BBJGF1EEPdL7xvZuW\n"
    "cBIfj7u4IAA6d8jkE4R7axjfqeIkO5Y0veBXZf5giSCDIoZLaOJGvgi+9+Xv+dq1\n"
    "DibK6ntG81RYIRrKujyrwYapKCzxJFK4UqNSMFAwDgYDVR0PAQH/BAQDAgeAMB0G\n"
    "A1UdDgQWBBQThWEBmVKC5lbcd58V1W4RPW6GHzAfBgNVHSMEGDAWgBSylSqPi3yp\n"
    "my4GRjJWJeh6C6XxtjAKBggqhkjOPQQDAgNHADBEAiBj4HUmxpS7i/s0WnPgc+Ig\n"
    "1EV8lAMX6woRsoePVXK2PwIgWeSh/9ge+UeUGqPgwNGS8bRsRrBUl9HQSJQJ9sGV\n"
    "hz8=\n"
    "-----END CERTIFICATE-----\n";

/// Public key on P-224.
inline constexpr const char* kOtherCurve =
    "-----BEGIN PUBLIC KEY-----\n"
    "ME4wEAYHKoZIzj0CAQYFK4EEACEDOgAEDOVvrvLtyWXUxlN7CBlYw+1S12oFENUg\n"
    "hp93OrzRKwARHZ5rp5bGhWS9yyqIrvxIETNoenoWvvw=\n"
    "-----END PUBLIC KEY-----\n";

/// Public RSA key of 1024 bits.
inline constexpr const char* kSmallRsa =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDEkxOsUpB7q1vYEG4S1EygDypT\n"
    "reNghRxw4I/NMSHByRKTVAaDTf/7isvqxpwRSDc97jR98+A1TRvVe5jzhOIbplr1\n"
    "m7xLXiC8N8O3h7+3jnwOaeCiZwhhO1YM+sLqKCeeNGI91j5mBfJ6xHSJscsUYQou\n"
    "R4zEY9ZYMX1LNUpSdwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";

/// Certificate of an authority on P-256.
inline constexpr const char* kAuthority =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBmTCCAT+gAwIBAgIURu5F9f348Jvu2+PtyMqtjIm6tHYwCgYIKoZIzj0EAwIw\n"
    "GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIzMTU0MjQwWhgPMjEy\n"
    "NjEwMzAxNTQyNDBaMBkxFzAVBgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZI\n"
    "zj0CAQYIKoZIzj0DAQcDQgAEiZSKoX8SUzYlhpG1LU34vJRTjMTaxcNAX1rT0/3R\n"
    "sK0X/A2GAWdP8dPDgUw6u2Npqg8TxbW8H//H+3u0xkt0IqNjMGEwHQYDVR0OBBYE\n"
    "FLKVKo+LfKmbLgZGMlYl6HoLpfG2MB8GA1UdIwQYMBaAFLKVKo+LfKmbLgZGMlYl\n"
    "6HoLpfG2MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49\n"
    "BAMCA0gAMEUCIQDI9Wd8fggfGfzzyLPHjZmzJpRXquhkWu389+UuPoxkpAIgWmMi\n"
    "RHtuGMB1qas8k8Q9QlTcyGuroQoh4YoJue1zoUI=\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of another authority on P-256.
inline constexpr const char* kOtherAuthority =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBmjCCAUGgAwIBAgIULDJprzOSt1WJjfjzE7y8HMrCua4wCgYIKoZIzj0EAwIw\n"
    "GjEYMBYGA1UEAwwPT3RoZXIgYXV0aG9yaXR5MCAXDTI2MTEyMzE1NDI0MFoYDzIx\n"
    "MjYxMDMwMTU0MjQwWjAaMRgwFgYDVQQDDA9PdGhlciBhdXRob3JpdHkwWTATBgcq\n"
    "hkjOPQIBBggqhkjOPQMBBwNCAATQUJGTuFugkjJeps5OFLu+gTVNc/aHy3ZeYRg2\n"
    "XwR+2zDg++YGGT8fyoBXIMpkIaefJCnfZa0LfyanEstIt1tUo2MwYTAdBgNVHQ4E\n"
    "FgQUiElTRfbOEGBq9ad9NVW+jrvbKoQwHwYDVR0jBBgwFoAUiElTRfbOEGBq9ad9\n"
    "NVW+jrvbKoQwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZI\n"
    "zj0EAwIDRwAwRAIgaz6mLhG+leg5w5Pm9/ZbJaEMdM3l2aLxE/uH/dva8OUCIDXz\n"
    "7jhH9/z3zUOkiLdNMLXsrCQYsE8vF1oYr54e14K8\n"
    "-----END CERTIFICATE-----\n";

/// Revocation list of kAuthority, which contains kRevokedCertificate.
inline constexpr const char* kRevocations =
    "-----BEGIN X509 CRL-----\n"
    "MIHJMHECAQEwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkX\n"
    "DTI2MTEyMzE1NDI0MVoYDzIxMjYxMDMwMTU0MjQxWjAVMBMCAhAPFw0yNjExMjMx\n"
    "NTQyNDFaoA4wDDAKBgNVHRQEAwIBATAKBggqhkjOPQQDAgNIADBFAiAvaq0Zg3I9\n"
    "3ROK9OXOizvz7QQNDl2pQlELuNd9dH4F+QIhAOw7ekDYwk6FsCaQ6Zi0JVJee2L/\n"
    "XZkatn8ceB1fHih8\n"
    "-----END X509 CRL-----\n";

/// Revocation list of kOtherAuthority, which is empty.
inline constexpr const char* kOtherRevocations =
    "-----BEGIN X509 CRL-----\n"
    "MIHKMHICAQEwCgYIKoZIzj0EAwIwGjEYMBYGA1UEAwwPT3RoZXIgYXV0aG9yaXR5\n"
    "Fw0yNjExMjMxNTQyNDFaGA8yMTI2MTAzMDE1NDI0MVowFTATAgIQDxcNMjYxMTIz\n"
    "MTU0MjQxWqAOMAwwCgYDVR0UBAMCAQIwCgYIKoZIzj0EAwIDSAAwRQIhAM1P/aBd\n"
    "VrbP7SUwAZ4RUn9ExQVmBn0UmxX5TeaHyREvAiA+Ch/+bfA3W3VpTNQ1a6uf2VFc\n"
    "5PJW/W4ne2AiJlitTg==\n"
    "-----END X509 CRL-----\n";

/// Key of a signer: ECDSA on P-256.
inline constexpr const char* kSignerSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg52URk+YIBU2/rWVC\n"
    "QI2XZcGAf4dyoqDpiAwDaS/GKGyhRANCAASBpVL7zXkhuTmszoRhcxjbPPtHW/+f\n"
    "ord+zB4qXCV1BsDVI7ZOLFGjvnk5cadAWtOFoQch0jzVZ37FM5LZ9gr2\n"
    "-----END PRIVATE KEY-----\n";

/// Public key of kSignerSecret.
inline constexpr const char* kSignerPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgaVS+815Ibk5rM6EYXMY2zz7R1v/\n"
    "n6K3fsweKlwldQbA1SO2TixRo755OXGnQFrThaEHIdI81Wd+xTOS2fYK9g==\n"
    "-----END PUBLIC KEY-----\n";

/// Certificate of kSignerSecret by kAuthority.
inline constexpr const char* kSignerCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfDCCASKgAwIBAgICEAAwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBExDzAN\n"
    "BgNVBAMMBnNpZ25lcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIGlUvvNeSG5\n"
    "OazOhGFzGNs8+0db/5+it37MHipcJXUGwNUjtk4sUaO+eTlxp0Ba04WhByHSPNVn\n"
    "fsUzktn2CvajYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1Ud\n"
    "DgQWBBTGJx7lAQ9cwszBQ8Z5fFOgVIhrvjAfBgNVHSMEGDAWgBSylSqPi3ypmy4G\n"
    "RjJWJeh6C6XxtjAKBggqhkjOPQQDAgNIADBFAiEAxLEsm9qycwmC7wUofLaq8l/G\n"
    "MrlGfzAnGazhG9IGtukCIHtu9KSmcxpj0aTmwC2bXx4BMMz79l+qQZ0a5qMTN98t\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret, valid until 2021.
inline constexpr const char* kExpiredCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBezCCASGgAwIBAgICEAQwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjASMRAwDgYD\n"
    "VQQDDAdleHBpcmVkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgaVS+815Ibk5\n"
    "rM6EYXMY2zz7R1v/n6K3fsweKlwldQbA1SO2TixRo755OXGnQFrThaEHIdI81Wd+\n"
    "xTOS2fYK9qNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0O\n"
    "BBYEFMYnHuUBD1zCzMFDxnl8U6BUiGu+MB8GA1UdIwQYMBaAFLKVKo+LfKmbLgZG\n"
    "MlYl6HoLpfG2MAoGCCqGSM49BAMCA0gAMEUCIF44/IXzhGWyfqn7HJi45YTucGZP\n"
    "z7c3BcfZXdupCDpoAiEAtCehbvhEjLyk2NhXvqnpd2W5ZXUnvlr9Z9AQ2g7MbD4=\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret, valid from 2100 on.
inline constexpr const char* kEarlyCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfjCCASOgAwIBAgICEAUwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIhgPMjEwMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEDEO\n"
    "MAwGA1UEAwwFZWFybHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASBpVL7zXkh\n"
    "uTmszoRhcxjbPPtHW/+ford+zB4qXCV1BsDVI7ZOLFGjvnk5cadAWtOFoQch0jzV\n"
    "Z37FM5LZ9gr2o2AwXjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAdBgNV\n"
    "HQ4EFgQUxice5QEPXMLMwUPGeXxToFSIa74wHwYDVR0jBBgwFoAUspUqj4t8qZsu\n"
    "BkYyViXoegul8bYwCgYIKoZIzj0EAwIDSQAwRgIhAJMoM+Khuz5L7OUJJd67zCtM\n"
    "69KEKDBA2Vrpn7XUnbldAiEA31rg01HGSfXAWRUIdKue/A6rXepoSydpABnn6ECi\n"
    "cco=\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret for TLS servers.
inline constexpr const char* kServerCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBkjCCATegAwIBAgICEAYwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBExDzAN\n"
    "BgNVBAMMBnNlcnZlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIGlUvvNeSG5\n"
    "OazOhGFzGNs8+0db/5+it37MHipcJXUGwNUjtk4sUaO+eTlxp0Ba04WhByHSPNVn\n"
    "fsUzktn2CvajdTBzMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBMGA1Ud\n"
    "JQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBTGJx7lAQ9cwszBQ8Z5fFOgVIhrvjAf\n"
    "BgNVHSMEGDAWgBSylSqPi3ypmy4GRjJWJeh6C6XxtjAKBggqhkjOPQQDAgNJADBG\n"
    "AiEAnx/R0M8JLgpTjoQXK23x95Gi4QrJw8zlIT/THO/FijoCIQCApB28/YKFGceQ\n"
    "OTro3oGIjvy91eoduz21g6w6t6iC9Q==\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret by kOtherAuthority.
inline constexpr const char* kForeignCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfzCCASSgAwIBAgICEAcwCgYIKoZIzj0EAwIwGjEYMBYGA1UEAwwPT3RoZXIg\n"
    "YXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjASMRAw\n"
    "DgYDVQQDDAdmb3JlaWduMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgaVS+815\n"
    "Ibk5rM6EYXMY2zz7R1v/n6K3fsweKlwldQbA1SO2TixRo755OXGnQFrThaEHIdI8\n"
    "1Wd+xTOS2fYK9qNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYD\n"
    "VR0OBBYEFMYnHuUBD1zCzMFDxnl8U6BUiGu+MB8GA1UdIwQYMBaAFIhJU0X2zhBg\n"
    "avWnfTVVvo672yqEMAoGCCqGSM49BAMCA0kAMEYCIQCxZAzqeW24K5MUdXUOyava\n"
    "9HKzef0R3oZ33DLPR6WPwgIhAPVXAWLyk8kZft7M8EG2bxF8m/daOKI13U/zG85o\n"
    "sjwS\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret by kIntermediate.
inline constexpr const char* kDeepCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBkTCCARegAwIBAgICEAkwCgYIKoZIzj0EAwIwEDEOMAwGA1UEAwwFaW50ZXIw\n"
    "IBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBGRl\n"
    "ZXAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASBpVL7zXkhuTmszoRhcxjbPPtH\n"
    "W/+ford+zB4qXCV1BsDVI7ZOLFGjvnk5cadAWtOFoQch0jzVZ37FM5LZ9gr2o2Aw\n"
    "XjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAdBgNVHQ4EFgQUxice5QEP\n"
    "XMLMwUPGeXxToFSIa74wHwYDVR0jBBgwFoAUtCTlLlNluLBTZrUgGxPePGIKp9Iw\n"
    "CgYIKoZIzj0EAwIDaAAwZQIwVZNAFLOBDkpXuv/rVP6bkElvhpVPQibM3DrgVmwf\n"
    "UxetszZdj6OOSrVyAUbebyfEAjEAp4g+9QZasqyx9zWaWZh6QqTL4hZhNDgNpsyk\n"
    "FwLV3lcSsOK0OlhLbn6V1TChSYXs\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of an authority between kAuthority and kDeepCertificate.
inline constexpr const char* kIntermediate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBmzCCAUGgAwIBAgICEAgwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBAxDjAM\n"
    "BgNVBAMMBWludGVyMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEYCyjcAowhXWlWeqC\n"
    "CMMNwNgYG8YTOVtfzVRsFtaTi1tLZJ7yi3qw8fDofg990KUNUMd56m0CTvTmAD4I\n"
    "7p3TO/9WxtCJeehtJRDdIJfkPp8Ms/Bg2DofiwgcGi62bv0oo2MwYTAPBgNVHRMB\n"
    "Af8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUtCTlLlNluLBTZrUg\n"
    "GxPePGIKp9IwHwYDVR0jBBgwFoAUspUqj4t8qZsuBkYyViXoegul8bYwCgYIKoZI\n"
    "zj0EAwIDSAAwRQIhAMR/ChH8hlcBMXx4P+sbxsCc+a4NFwU38iEM7JK8H7LoAiB3\n"
    "N1ZUkvIWstJKR5MkOnMiQmHPA8XxyhrbmclH/7NyKg==\n"
    "-----END CERTIFICATE-----\n";

/// Certificate of kSignerSecret by kRsaSignerCertificate, which isn't an authority's.
inline constexpr const char* kUnderSigner =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICNzCCAR+gAwIBAgICEAowDQYJKoZIhvcNAQELBQAwFDESMBAGA1UEAwwJcnNh\n"
    "c2lnbmVyMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAQMQ4wDAYD\n"
    "VQQDDAV1bmRlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIGlUvvNeSG5OazO\n"
    "hGFzGNs8+0db/5+it37MHipcJXUGwNUjtk4sUaO+eTlxp0Ba04WhByHSPNVnfsUz\n"
    "ktn2CvajYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQW\n"
    "BBTGJx7lAQ9cwszBQ8Z5fFOgVIhrvjAfBgNVHSMEGDAWgBTMu7vmVjs2NeotCQ01\n"
    "+OW7YZFYDjANBgkqhkiG9w0BAQsFAAOCAQEAKq8Q6zRFsFv0eatTo/tnDGI0ych0\n"
    "pEWNAJnv5tN4VdYhhLy0+/WHbz6IXvhRWuQMeBEVwbogsDk3NncaeqEak9Wv20Qo\n"
    "6KpGTU4y6zfLbIttoFQmxrblW+HM3u0rqHm4AMFXSr/DHqpGYwvq9okVBahPgrDl\n"
    "bMqy5qiAUIi6oD2dx84AmkiMqaSA0Ghcz795YWHY6rydGJCT0/Qte9nr1kwDm8o+\n"
    "MVXC9xH+usgTuQPjtxpJbx+RmbdntWa2acTrdIcghSc5rrfQcaxisOegJXnTKHCw\n"
    "7G0ltmaab/UIqk6l26PpvWHLswMCtno6IXHS7A1Gq5/bTNlMyTJu6OiUUQ==\n"
    "-----END CERTIFICATE-----\n";

/// Key of a signer: RSA of 2048 bits.
inline constexpr const char* kRsaSignerSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDL5SxmHWpQ3RIO\n"
    "RPSZS+Q5iFmqIhFNXUUdkuJydHYF7J7sb34MVbtV0njbQ+YkM/XGIC7i5DF1Py4q\n"
    "G5P4WrcLu2xlu4E4W1oxbX5rj3KCa7Bo47GVAh9/p6EanghQiqWfkbrV3WjidxTL\n"
    "cUouLFsRu6LabFEvHGGHdXUF0/oMGkZ2u5gUqHsPuOGa7IPdtsjHL1/XZQTK8f2F\n"
    "C0osKzZBe1r+TORDTuIBDjwUKh3EfsbjnCvYAFmye1C9t4GhfJNpIjlUrjN2EbUH\n"
    "rkiZ89AE/DyjFn7MiGi5Sml0wgwHx7Jz91JFCeWI172kOnhLbUI6YT6AR34YBnr+\n"
    "E0eTOYT7AgMBAAECggEAC5jHyzEOHHZOchhS7yslWm5aZzZT1Joi9bkmfwsHsXOR\n"
    "YHJA8ZOouYtki1gTzWhVKMUo1YfUFk6XIhb6dgw20AiDdE/TXDC58wi+wYBhq3BT\n"
    "ksusjISX5QtUOu7VGzufivFfdo2GyyapvJ5/cRvdvCb3bsPtZCgRlgJEuyWg2bJE\n"
    "3wIW/WzZok+/qARQGJ6k1GU2nWvmj+eNP1RKagdqrvglcw2pFzSoDhkncrt8ww2M\n"
    "OGwwlP85wQQxoe0fVY6cFKvAJyHgmTtBKXWlSEmtqlireu26RK2K1i7Ddw6Zjsqn\n"
    "FU0dwIebzh4IjPJaex2fx5uNjMRn5txHnOze2Ch9tQKBgQDuy75VO0MWwIcoOHHV\n"
    "YIUvRNYmV1vV80nK9SNyqDdJJvMLkBMfV/XHpjry4MgAhpFRu6Oyeq4h4ytyOUXQ\n"
    "IVgtyc39gcRjcs/gbRpwLDf+p/LE0fqnWYQxW4VTRlZcW9Xot/H3IckcbMaEzFhd\n"
    "Lh/90j1GRFTlIFWpEuEUi6W7jwKBgQDalbxk6a8UflmpvfYftefpLH9FnNh0369C\n"
    "0BVTJklh3YXpf2NGj0RpqUbEG+8T5hm8lYT0xHSb262AoBHeXqpG1cS91zzuq5lM\n"
    "2HhkQ1yQSeMN34RbbAY0+z5LYqV4s6gJIMsUFFv+Y4nhCfTk/2tbDgulheIjKkti\n"
    "IUgfqQSZ1QKBgFr5tGG0WjLo1pU0K+onA5ammw+waIRyU8LG8eJUw/tSo3XcRezD\n"
    "Dhgp9Htjt867ddG1sv/kTUML0RmLSFWq3nVTVO8n6TIaI6hU6KWjsxGJ2quxc9Ud\n"
    "/YbwXzMCsRQuyKgIrF6CuKPjrR4a2+9kCzwgRMfocI96aign0SiKq3FxAoGAHWkc\n"
    "Si+vIQDHK7Glliqxo4wbK9Cox0D5ofHBjMiQAxz9UaeUQgAw4k6meOiRSIojWF59\n"
    "3zk3v2jVdYMUJGl0W8eTiz+UsUBhhhdyS3tMzxVB+bHjazGjvCk5/oatYQo7R88j\n"
    "w/XhUt8txBvE2bMMTNoc8w6KmNSuA+waejgRqGkCgYAX2Qar+9XI6lDJaJ2Gw++/\n"
    "MB8AndAVa20eAz3Eulc+v1bhhJvhLN72fBvFn6oiDqcPAtXPp6edPsYu4PFjGU5V\n"
    "DoilZcqgBU39BsGPpUtPpnCBmGQvYkOEiAqPYWWJQmfql7xPBlYXXVqcGGNEsqo9\n"
    "hS7vypXIfi3KWi4nwMXrbQ==\n"
    "-----END PRIVATE KEY-----\n";

/// Certificate of kRsaSignerSecret for code signing.
inline constexpr const char* kRsaSignerCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICXzCCAgWgAwIBAgICEAEwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQ\n"
    "BgNVBAMMCXJzYXNpZ25lcjCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEB\n"
    "AMvlLGYdalDdEg5E9JlL5DmIWaoiEU1dRR2S4nJ0dgXsnuxvfgxVu1XSeNtD5iQz\n"
    "9cYgLuLkMXU/Liobk/hatwu7bGW7gThbWjFtfmuPcoJrsGjjsZUCH3+noRqeCFCK\n"
    "pZ+RutXdaOJ3FMtxSi4sWxG7otpsUS8cYYd1dQXT+gwaRna7mBSoew+44Zrsg922\n"
    "yMcvX9dlBMrx/YULSiwrNkF7Wv5M5ENO4gEOPBQqHcR+xuOcK9gAWbJ7UL23gaF8\n"
    "k2kiOVSuM3YRtQeuSJnz0AT8PKMWfsyIaLlKaXTCDAfHsnP3UkUJ5YjXvaQ6eEtt\n"
    "QjphPoBHfhgGev4TR5M5hPsCAwEAAaN1MHMwDAYDVR0TAQH/BAIwADAOBgNVHQ8B\n"
    "Af8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwMwHQYDVR0OBBYEFMy7u+ZWOzY1\n"
    "6i0JDTX45bthkVgOMB8GA1UdIwQYMBaAFLKVKo+LfKmbLgZGMlYl6HoLpfG2MAoG\n"
    "CCqGSM49BAMCA0gAMEUCIQDuCF4VpB/fdwLYWf3n5MeZ9JzefiVYz/dZJBr54iOy\n"
    "3AIgIfUoQDP0TLg7PaSU7qrC6PeLkomc3SHvdui/m0PyuT8=\n"
    "-----END CERTIFICATE-----\n";

/// Key of a signer: RSA-PSS.
inline constexpr const char* kPssSignerSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEuwIBADALBgkqhkiG9w0BAQoEggSnMIIEowIBAAKCAQEAuAhmy/AbKnTynixV\n"
    "p6AUodtWcmeOHNfTI5AEpQXCUy0WjCTTd86EghrkRE3q6XTKNUOHess+s7BOhw8D\n"
    "JN8aocN1M4KhausbTJLKT/PaFKCDmusjSnD5ggkzS8HJkPYDP84KYlsZAL/NPi24\n"
    "W7kJ0q8wIL/t1fPcPpX0OcRifpzT2pkUOLoFiBYCw/4UAwK1WmQ/xQU6j0Ge6h63\n"
    "PnPO2Hfm89IeKLnASqwoaZzMgbCQLiYm6p9oqA11KQPCbRd5RN3BDOZ0LE2dZ0R6\n"
    "yCQfsILBu0SqLBqjwjCitgsaIDoCcobn1vyimLHZtQfYvvaGq0aXtjwFYmP4aa3Q\n"
    "3MBJ1wIDAQABAoIBACwk88earmGGUQZpGxjM+PYEX52swnWfvclri/mrwnviNmTi\n"
    "lolIFBgDbFsIF7/tYG3bZ32okD9ZHNUf4ECxdbl04cG75Y14nQFGutnn5BmLkVYR\n"
    "blM2e1taaqAS+Y9Yu9nLykjikkJQP+LY4764yabsmA5bC6mFSAEJRl6vAXNeMJaQ\n"
    "ox1+WZRQjlGr7i8ZZF8pQsdOAW0D0IkOr4ZfjNljETI59PEjpLLPgmsXrgXZcJHb\n"
    "MB3jq+A5Ui+CL6DI30TWnncxZ+pzCxXTQPOK/EXN4aAg+xjBp4F71lautsj4HYhb\n"
    "cLU4hmPGj5ng0eCU3do+/9GwcyYvgW3Vyxiprh0CgYEA/9Y6YCA+nGuk6d7JHu40\n"
    "duHX50MC/dExxVpj/V/Oiegars1d3OKNyGPRiUkScdylgtb9aMK7oLMJ/ZTGyDxV\n"
    "JrbdHwV4QOOnDELEmFHRxcpzI/JyB3WwBnF/lUpFgZ1mBdm205xOqBGzs7EuthDf\n"
    "q/6pSJWjnj4fsIgMXPAhMd0CgYEAuCZzHPcqJEpOBsZxAjjsYQBRXUczbcyPL3jl\n"
    "HPndJVTwOd0KjtG2RFFA2g0BcMZaibVR5OMdoq8C9KNvBoCDI0syf8ktUjwaqIul\n"
    "41hJN/UGH6cnJfg79IpsMDRMRugWJoWQpE2uBpKrZqYqOEZcgxg1WRULleiQufLS\n"
    "zdTh4UMCgYEAkn6CKL7t+zWsVfqrIZn20sgZkCQQF3TtUfujW9e7db5BYSzZfX0B\n"
    "AOkfd8Qu2qIk6BnhO1aeh7NdmiXR+aCKhcOaNIQ2SrnQ0rV8y1e2jdKSQdg3MUxT\n"
    "gi0FiF/iEwkk/V6gUOWlKJoSU2e2vqxE18DYAGcnLJqYHMaahbE+4MUCgYB9M7ck\n"
    "RG/kiJiQRq9jAWzFbr/jGZu/1UqszheIIeHXle5WiRC6lZ7EyDG9jwYhtNqtshfh\n"
    "9QCbMT5jMhM0an++qUvGUfN8a9z8JyY8cjQl1XO6ZZ1aVXH+C3cPNx99PiKBQmJb\n"
    "M21Ujrf2bJdb94rCntz2mjZsT9jGdHAa/dgtnQKBgA6GAB37W/nRujWH5W0LyjSn\n"
    "uSZiB2BI8ROrqkaqrOMPhaAjbl+uzFQ7JYRCf8MTLqb1FUkjAU7ochY/TPa/BB3g\n"
    "qhPpptgLimHo23K6frO+CEf+vWuYXsYwD8IF0RGWEkOYaXcMTy8xz/ixZ0LWoG77\n"
    "fv7VT7oUjwvsMfG/7W/V\n"
    "-----END PRIVATE KEY-----\n";

/// Certificate of kPssSignerSecret by kAuthority.
inline constexpr const char* kPssSignerCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICRzCCAe6gAwIBAgICEAIwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQ\n"
    "BgNVBAMMCXBzc3NpZ25lcjCCASAwCwYJKoZIhvcNAQEKA4IBDwAwggEKAoIBAQC4\n"
    "CGbL8BsqdPKeLFWnoBSh21ZyZ44c19MjkASlBcJTLRaMJNN3zoSCGuRETerpdMo1\n"
    "Q4d6yz6zsE6HDwMk3xqhw3UzgqFq6xtMkspP89oUoIOa6yNKcPmCCTNLwcmQ9gM/\n"
    "zgpiWxkAv80+LbhbuQnSrzAgv+3V89w+lfQ5xGJ+nNPamRQ4ugWIFgLD/hQDArVa\n"
    "ZD/FBTqPQZ7qHrc+c87Yd+bz0h4oucBKrChpnMyBsJAuJibqn2ioDXUpA8JtF3lE\n"
    "3cEM5nQsTZ1nRHrIJB+wgsG7RKosGqPCMKK2CxogOgJyhufW/KKYsdm1B9i+9oar\n"
    "Rpe2PAViY/hprdDcwEnXAgMBAAGjYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/\n"
    "BAQDAgeAMB0GA1UdDgQWBBRfm0gZnzR/mN5jWMgHAYZBZJNaojAfBgNVHSMEGDAW\n"
    "gBSylSqPi3ypmy4GRjJWJeh6C6XxtjAKBggqhkjOPQQDAgNHADBEAiB4SxEUMTtH\n"
    "sVM24j5Y5AhezArXS6DLgJplHw9u4mZphAIgcFuqcTQjCmwajmZ77yNLMWwu4GUX\n"
    "xVUFqbQAlbChM70=\n"
    "-----END CERTIFICATE-----\n";

/// Key of a signer: Ed25519.
inline constexpr const char* kEdSignerSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIDwoYD/s44SMsTn3GzPcSaglpmPc+NzZbO3dtqnltlFu\n"
    "-----END PRIVATE KEY-----\n";

/// Certificate of kEdSignerSecret by kAuthority.
inline constexpr const char* kEdSignerCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBTjCB9aADAgECAgIQAzAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5UZXN0IGF1\n"
    "dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEzERMA8G\n"
    "A1UEAwwIZWRzaWduZXIwKjAFBgMrZXADIQDtgy2d0Un3VIUGi3OfLzeF1DD4yEnT\n"
    "RhYUP5Ln2mq37KNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYD\n"
    "VR0OBBYEFHoVGP7Zf0ReBR/u5lML3W4d8Lv1MB8GA1UdIwQYMBaAFLKVKo+LfKmb\n"
    "LgZGMlYl6HoLpfG2MAoGCCqGSM49BAMCA0gAMEUCIFB95i0ZZlLSkJfq8WrmzEzy\n"
    "jvxuLDXtvbMvHtwjbTFvAiEAjQHurUkO+VsaS3zHHMk9aCgaab6z59esHrGWq1Nc\n"
    "4Lw=\n"
    "-----END CERTIFICATE-----\n";

/// Key of a signer that was revoked.
inline constexpr const char* kRevokedSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggaXsQEF6pi3Wly73\n"
    "t6VLCOi7pZZiae8vzOao5b1wiT6hRANCAATwkq7waw5nVDY1LzSbnzkOJZayb6CZ\n"
    "xuhXG07pw4hufKwH3TRjZGLsi5d5Sdj+SwuxXDFruiGxZbmgJEH9T64p\n"
    "-----END PRIVATE KEY-----\n";

/// Certificate of kRevokedSecret by kAuthority, from before the revocation.
inline constexpr const char* kRevokedCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfjCCASOgAwIBAgICEA8wCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh\n"
    "dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBIxEDAO\n"
    "BgNVBAMMB3Jldm9rZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATwkq7waw5n\n"
    "VDY1LzSbnzkOJZayb6CZxuhXG07pw4hufKwH3TRjZGLsi5d5Sdj+SwuxXDFruiGx\n"
    "ZbmgJEH9T64po2AwXjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAdBgNV\n"
    "HQ4EFgQUHJkyPovoux3PWuti6hVaxzPkR5kwHwYDVR0jBBgwFoAUspUqj4t8qZsu\n"
    "BkYyViXoegul8bYwCgYIKoZIzj0EAwIDSQAwRgIhALNoWj3nbngR0ar/CXKIbJBM\n"
    "tqiQjSPOLBnpNwTipKHmAiEAwwj8B85aLpTDEjR2NPzeEPHb1nIFQbv1SQo66NOE\n"
    "KV4=\n"
    "-----END CERTIFICATE-----\n";

/// Data encrypted with kRsaPublic: OAEP with SHA-256.
inline constexpr const char* kRsaShare =
    "0ac93a23a4f9b2acceee72a250792ef336348821f24c31273a61ac9afa580d58508b000de0c02d8ddd474df911245572f2e587501e9929ec"
    "c37c2408755236526ce7b618df19b61eeb54f8f494afb8e52d14bd4f92d086ee28f83fa6b909d844a0173ff0c32689109d521d4344bb5461"
    "6daecb8b0424c8591c939ee3c611bfa6415255e0a446281689d02006f8dfe72c181d7975a0e3663bbfe7416a6eeac2da80300d0fde5d1771"
    "596b38a167e26c1b9b3c7edf827a22e87d9670c8eab3c187558a546450a264f706415d0bb4fc558c68f80f82ae0d845d8b525d16a29adcd8"
    "739a1e419fc747bab5027bfc286f6bdf30a7f8984a2f501d2095e708bf193781";

/// Decrypted content of kRsaShare.
inline constexpr const char* kRsaShared =
    "9e3a555e15ffcc4ce9d9a4c12653e5f580f4169243c0f4cd74ba3b466bb704d8";

/// Point of a peer, for ECDH with the secret key of this kind.
inline constexpr const char* kX25519Share =
    "0bd5eb915f3aeafdfd21e83348e956672c59316dd936ab832497d576b816294a";

/// Result of ECDH with kX25519Share.
inline constexpr const char* kX25519Shared =
    "53b8d70bfd65b7034d753e55502041a9a604af28f22efe548fefb0a92632fd57";

/// Point of a peer, for ECDH with the secret key of this kind.
inline constexpr const char* kP256Share =
    "0431e9e5fb652aa37581bf671813335492c1d7891a3448c3a65e08f65b97f937d998d5bef2ca7347cbe085430211cdc9af250b30812eec25"
    "71af1db59c40816d5d";

/// Result of ECDH with kP256Share.
inline constexpr const char* kP256Shared =
    "be1ff2113739b301ef640b45826194f295c06e3ad7437102d6680eac8de32bd7";

/// Point of a peer, for ECDH with the secret key of this kind.
inline constexpr const char* kP384Share =
    "04fb8b0405fc67741168986399fc67dcff62f4a59a44f6d9daf989e2ee160911adedcc43643453c3ae776e176c5b49a1e737cef13b3de3f4"
    "31356d7bac849fc67124ddaae1d194109c8c9159197e9571fbd6a995d8c7d6dcf4ffd35f9d37bea97f";

/// Result of ECDH with kP384Share.
inline constexpr const char* kP384Shared =
    "77d119bd46a7524ad7022fa06e46052c1024e7053f88840291747e1dec1109b97ae9176fa14e28bebb7e93f67250bb52";

/// Point of a peer, for ECDH with the secret key of this kind.
inline constexpr const char* kP521Share =
    "0400839ca162adfb04619c09c1793f0d682ad65b75e6f2bbe6aa3e794bcfe1de61a3a77bd5f11df40c55453620dfe1092edc1fde04796fe6"
    "e3ba44f9d2ffe39b19ea8a01c0ccbca278a2a0cd4e04d151f036539188535f1acf0801669e49deebdee0d5a3ed36b87653550cbad6ce3d7c"
    "9e573bbe81f83a7d40eb2ab9c31d61424d2eb60b0e";

/// Result of ECDH with kP521Share.
inline constexpr const char* kP521Shared =
    "00089dabb98ee0c26dffed3b7de33de073660ddba88735512d2d178d2050d5f0dfb38a13a11f350880d7010423074d844950ef823cd6f461"
    "bde26b61ec10d0f4909e";

// clang-format on

}  // namespace criu::test::pki
