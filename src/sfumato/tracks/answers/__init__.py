"""What a release is still good for: questions about many people answered from protected tracks and their certificates.

Nothing here sees an original. The law of the noise stands on the certificate, so its effect can be taken out of sums
over people, while each person stays as hidden as before: post-processing costs no privacy.
"""
