"""Take pictures of the web page: wide, on a phone, in dark mode, on a projector.

    python docs/pictures/page.py http://127.0.0.1:8000 docs/pictures

Needs a server (`arcspan serve`), selenium, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import base64
import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import WebDriverWait

SENTENCE = "I saw the astronomer with a telescope near the old river bank."
# name -> width, height, dark, full screen, part to point at
PICTURES = {
    "page": (1280, 1010, False, False, ""),
    "page-dark": (1280, 1010, True, False, ".arc[data-word='4'] text"),
    "page-phone": (390, 844, False, False, ".word[data-word='4'] text"),
    "page-projector": (1280, 720, False, True, ".constituent[data-span='2,4'] text"),
}


def main() -> None:
    """Open the page, parse a sentence, save what is seen."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("url")
    arguments.add_argument("folder", type=Path)
    given = arguments.parse_args()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    for name, (width, height, dark, full_screen, target) in PICTURES.items():
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get(given.url)
        driver.find_element("id", "text").send_keys(SENTENCE, Keys.ENTER)
        WebDriverWait(driver, 30).until(
            lambda page: page.find_elements("css selector", "svg.arcspan")
        )
        if full_screen:
            driver.find_element("css selector", ".present").click()
        if target:
            ActionChains(driver).move_to_element(driver.find_element("css selector", target)).pause(
                0.5
            ).perform()
        picture = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": False}
        )["data"]
        (given.folder / f"{name}.png").write_bytes(base64.b64decode(picture))
    driver.quit()


if __name__ == "__main__":
    main()
